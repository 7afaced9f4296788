"""PlaNet: a model of the world, and plans that are made in it.

Hafner et al. 2019, "Learning latent dynamics for planning from pixels", algorithm 1.
"""

from __future__ import annotations

import gymnasium as gym
from typing_extensions import override

from agents.replay_agent import Learned, ReplayBatch
from agents.sequence_agent import SequenceAgent, Sequences, SequencesLearned
from agents.sequence_setup import check_shape, world_model_settings
from utils.config import PlanetConfig
from utils.errors import ConfigError
from utils.optimization import set_gradients
from utils.policies.planning_policy import PlanningPolicy, PlanningSettings
from utils.rollouts.world_model_exploration import WorldModelExplorer
from utils.seeding import derive_seed
from utils.world_models import WorldModel
from utils.world_models.actions import ActionCode


class PlanetAgent(SequenceAgent):
    """A world model that learns from sequences; what acts on it learns nothing."""

    config: PlanetConfig
    policy: PlanningPolicy

    @staticmethod
    @override
    def build_models(
        config: PlanetConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> PlanningPolicy:
        if not isinstance(action_space, gym.spaces.Box):
            raise ConfigError(
                f"planet plans actions of a Box, and the action space is {action_space}: use "
                "dreamer"
            )
        code = ActionCode(action_space, box="bounded_normal", algorithm="planet")
        check_shape(config, observation_space)
        settings = world_model_settings(config)
        model = WorldModel(observation_space, code.width, settings, predicts_end=config.predict_end)
        planning = PlanningSettings(
            horizon=config.planning_horizon,
            n_iterations=config.planning_iterations,
            n_candidates=config.planning_candidates,
            n_elites=config.planning_elites,
            gamma=config.gamma,
        )
        return PlanningPolicy(model, code, planning)

    @override
    def build_learner(self) -> None:
        super().build_learner()
        self.optimizers["all"] = self.build_grouped_optimizer(
            {"world_model": (self.policy.world_model, None)}
        )

    @override
    def build_explorer(self) -> WorldModelExplorer:
        return WorldModelExplorer(
            self.policy,
            seed=derive_seed(self.config.seed, "policy", self.part.rank),
            device=self.compute_device,
            noise=self.config.exploration_noise,
        )

    @override
    def learn(self, batch: ReplayBatch) -> Learned:
        raise AssertionError("PlaNet learns from sequences")

    @override
    def learn_from_sequences(self, batch: Sequences) -> SequencesLearned:
        goes_on = (~batch.terminated).float()
        with self.reduced_precision():
            observed = self.observe(batch)
            losses, metrics = self.model_losses(batch, observed, goes_on=goes_on)
        metrics |= {f"train/loss/{name}": loss.detach() for name, loss in losses.items()}
        set_gradients(sum(losses.values()), list(self.policy.world_model.parameters()))
        metrics |= self.step_groups(self.optimizers["all"])
        return SequencesLearned(metrics, self.fields_of(observed.state))

    @override
    def describe_learning(self) -> list[str]:
        config = self.config
        plans = (
            f"plans: {config.planning_horizon} steps ahead, {config.planning_iterations} times the "
            f"best {config.planning_elites} of {config.planning_candidates}"
        )
        return [*super().describe_learning(), plans]
