"""Dreamer: an actor and a critic that learn in the dreams of a world model.

Hafner et al. 2025, "Mastering diverse control tasks through world models", algorithm 1; by config
also Hafner et al. 2021, "Mastering Atari with discrete world models", and Hafner et al. 2020,
"Dream to control".
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from functools import partial
from typing import NamedTuple

import gymnasium as gym
import torch
from torch import Tensor
from typing_extensions import override

from agents.dreamer.dreamer_losses import (
    continue_target,
    dream_returns,
    dream_weight,
    dynamics_loss,
    reinforce_loss,
    replay_returns,
    replay_weight,
)
from agents.replay_agent import Learned, ReplayBatch
from agents.sequence_agent import SequenceAgent, Sequences, SequencesLearned
from agents.sequence_setup import check_shape, world_model_settings
from utils.config import DreamerConfig
from utils.distributions import Parameters, sample_rows
from utils.errors import ConfigError
from utils.normalization.percentile_scale import PercentileScale
from utils.optimization import mark_stacked, set_gradients
from utils.optimization.averaging import move_towards_
from utils.policies.world_model_policy import WorldModelPolicy
from utils.rollouts.world_model_exploration import WorldModelExplorer
from utils.seeding import derive_seed
from utils.world_models import (
    Head,
    Imagined,
    Observed,
    State,
    WorldModel,
    build_scalar_head,
)
from utils.world_models.actions import ActionCode


class Dream(NamedTuple):
    """What was dreamt from N states for H steps, and what it is worth."""

    imagined: Imagined
    features: Tensor
    """(H + 1, N, F) of each state."""
    returns: Tensor
    """(H, N)"""
    baseline: Tensor
    """(H, N) value of each state."""
    weight: Tensor
    """(H, N) how likely each state is still reached."""


class DreamerAgent(SequenceAgent):
    """World model, actor and critic, all learnt from the same sequences."""

    config: DreamerConfig
    policy: WorldModelPolicy

    @staticmethod
    @override
    def build_models(
        config: DreamerConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> WorldModelPolicy:
        code = ActionCode(action_space, box=config.actor_distribution, algorithm="dreamer")
        if config.actor_gradient == "dynamics" and not code.is_continuous:
            raise ConfigError(
                f"actor_gradient: dynamics has no gradient through the choices of {action_space}: "
                "use reinforce"
            )
        if config.exploration_noise and not code.is_continuous:
            raise ConfigError(
                f"'exploration_noise' has no effect on the action space {action_space}: only "
                "actions of a Box can be noisy"
            )
        check_shape(config, observation_space)
        kwargs = config.policy_kwargs
        settings = world_model_settings(config)
        kinds = {"norm": kwargs.norm, "activation": kwargs.activation, "width": kwargs.units}
        model = WorldModel(observation_space, code.width, settings, predicts_end=config.predict_end)
        return WorldModelPolicy(
            model,
            code,
            partial(Head, n_layers=kwargs.actor_layers, scale=0.01, **kinds),
            partial(
                build_scalar_head,
                kwargs.numbers,
                n_bins=kwargs.bins,
                n_layers=kwargs.critic_layers,
                **kinds,
            ),
        )

    @override
    def build_learner(self) -> None:
        super().build_learner()
        config, policy = self.config, self.policy
        self.follows_gradient = config.actor_gradient == "dynamics" or (
            config.actor_gradient == "auto" and policy.code.is_continuous
        )
        self.scale = PercentileScale().to(self.compute_device)
        self.networks["scale"] = self.scale
        self.slow_critic = policy.critic
        if config.slow_critic != "none":
            self.slow_critic = copy.deepcopy(policy.critic).requires_grad_(False)
            self.networks["slow_critic"] = self.slow_critic
        if policy.code.is_continuous:  # means and deviations: a layer each for the clipping
            for parameter in policy.actor.output.parameters():
                mark_stacked(parameter, 2)
        self.optimizers["all"] = self.build_grouped_optimizer(
            {
                "world_model": (policy.world_model, None),
                "actor": (policy.actor, config.actor_lr),
                "critic": (policy.critic, config.critic_lr),
            }
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
        raise AssertionError("Dreamer learns from sequences")

    @override
    def learn_from_sequences(self, batch: Sequences) -> SequencesLearned:
        config, policy = self.config, self.policy
        learns_model = "update_world_model" in self.hooks
        learns_controller = "update_controller" in self.hooks
        self.optimizers["all"].zero_grad(set_to_none=True)  # what has no part in it stays as it is
        with torch.set_grad_enabled(learns_model), self.reduced_precision():
            observed = self.observe(batch)
            losses, metrics = {}, {}
            if learns_model:
                goes_on = continue_target(
                    batch.terminated, gamma=config.gamma, discounted=config.discounted_end
                )
                losses, metrics = self.model_losses(batch, observed, goes_on=goes_on)
        of_actor: Tensor | None = None
        if learns_controller:
            dream = self.dream(observed.state)
            with self.reduced_precision():
                of_actor, said = self.actor_loss(dream)
                losses |= self.critic_losses(batch, observed, dream)
            metrics |= said
        metrics |= {f"train/loss/{name}": loss.detach() for name, loss in losses.items()}
        parts = ([policy.world_model] if learns_model else []) + (
            [policy.critic] if learns_controller else []
        )
        set_gradients(sum(losses.values()), [p for part in parts for p in part.parameters()])
        if of_actor is not None:
            metrics["train/loss/actor"] = of_actor.detach()
            set_gradients(of_actor, list(policy.actor.parameters()))
        metrics |= self.step_groups(self.optimizers["all"])
        if learns_controller:
            self.follow_critic()
        return SequencesLearned(metrics, self.fields_of(observed.state))

    def dream(self, start: State) -> Dream:
        """Dream from every state that was observed, and value what was dreamt."""
        config, policy, model = self.config, self.policy, self.policy.world_model
        n_steps, n_sequences = start.deter.shape[:2]
        state = State(*(part.detach().flatten(0, 1) for part in start))
        shape = (config.imagination_horizon, n_steps, self.part.whole(n_sequences))
        noise = self.part.own(model.rssm.latent.draw_noise(shape, self.noise_generator), dim=2)
        with torch.set_grad_enabled(self.follows_gradient), self.reduced_precision():
            imagined = model.rssm.imagine(state, self.choose, noise.flatten(1, 2))
            features = imagined.state.features
            reward = model.reward.mean(model.reward(features))
            goes_on = torch.full_like(reward, config.gamma)
            if model.goes_on is not None:
                goes_on = model.goes_on.probability(model.goes_on(features))
                goes_on = goes_on if config.discounted_end else goes_on * config.gamma
            judge = self.slow_critic if config.slow_critic == "target" else policy.critic
            value = judge.mean(judge(features))
        returns = dream_returns(
            reward=reward, goes_on=goes_on, value=value, trace=config.return_lambda
        )
        # The discount of the state itself is no part of how likely it is reached.
        weight = dream_weight(goes_on)
        if not (config.discounted_end and model.goes_on is not None):
            weight = weight / config.gamma
        return Dream(imagined, features, returns, value[:-1], weight)

    def choose(self, state: State, step: int) -> tuple[Tensor, Tensor]:
        """Return what the actor does in a dream, drawn and encoded."""
        del step
        code = self.policy.code
        parameters = code.parameters_of(self.policy.actor(state.features.detach()))
        action = self.draw_in_dream(parameters)
        return action, code.encode(action)

    def draw_in_dream(self, parameters: Parameters) -> Tensor:
        """Draw actions for T steps of B sequences in a row, (T * B, ...)."""
        code, part = self.policy.code, self.part
        if part.size == 1:
            return code.draw(parameters, self.noise_generator)
        n = self.source.plan.pace.batch_size
        action = sample_rows(
            code.distribution,
            tuple(parameter.unflatten(0, (-1, n)) for parameter in parameters),
            self.noise_generator,
            first=part.rank * n,
            total=part.whole(n),
            dim=1,
        )
        return action.flatten(0, 1)

    def actor_loss(self, dream: Dream) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of the actor, (), and what it tells."""
        config, code = self.config, self.policy.code
        scale = torch.ones_like(dream.returns[0, 0])
        if config.normalize_returns:
            self.scale.update(self.rows_of_all(dream.returns.detach()))
            scale = self.scale.scale()
        parameters = code.parameters_of(self.policy.actor(dream.features[:-1].detach()))
        common = {"weight": dream.weight, "ent_coef": config.ent_coef}
        advantage = (dream.returns - dream.baseline) / scale
        if self.follows_gradient:
            entropy = code.distribution.entropy(parameters)
            loss = dynamics_loss(returns=dream.returns / scale, entropy=entropy, **common)
        else:
            logprob, entropy = code.distribution.logprob_and_entropy(
                parameters, dream.imagined.action
            )
            loss = reinforce_loss(logprob=logprob, entropy=entropy, advantage=advantage, **common)
        metrics = {
            "train/dreamer/entropy": entropy.detach().mean(),
            "train/dreamer/return_mean": dream.returns.detach().mean(),
            "train/dreamer/return_scale": scale.detach(),
            "train/dreamer/value_mean": dream.baseline.detach().mean(),
            "train/dreamer/advantage_size": advantage.detach().abs().mean(),
        }
        return loss.mean(), metrics

    def critic_losses(
        self, batch: Sequences, observed: Observed, dream: Dream
    ) -> dict[str, Tensor]:
        """Return the losses of the critic by name, () each: on dreams, and on what happened."""
        config = self.config
        features, weight = dream.features[:-1].detach(), dream.weight
        losses = {"critic": (weight * self.value_loss(features, dream.returns.detach())).mean()}
        if config.replay_value_scale:
            returns = replay_returns(
                reward=batch.reward,
                terminated=batch.terminated,
                truncated=batch.truncated,
                bootstrap=dream.returns[0].detach().view(batch.reward.shape),
                gamma=config.gamma,
                trace=config.return_lambda,
            )
            real = self.value_loss(observed.state.features[:-1], returns)
            real = replay_weight(batch.terminated, batch.truncated) * real
            losses["replay_critic"] = config.replay_value_scale * real.mean()
        return losses

    def value_loss(self, features: Tensor, returns: Tensor) -> Tensor:
        """Return how far the critic is from returns (T, N), and from its slow self, (T, N)."""
        critic, slow = self.policy.critic, self.slow_critic
        output = critic(features)
        loss = critic.loss(output, returns)
        if self.config.slow_critic == "regularizer":
            with torch.no_grad():
                target = slow.mean(slow(features))
            loss = loss + critic.loss(output, target)
        return loss

    @property
    def critic_is_followed(self) -> bool:
        """Whether the slow critic follows after the update that comes."""
        is_due = (self.n_learnt + 1) % self.config.slow_critic_every_updates == 0
        return self.config.slow_critic != "none" and is_due

    @override
    def update_kind(self) -> Hashable:
        return (*self.hooks, self.critic_is_followed)

    def follow_critic(self) -> None:
        """Let the slow critic follow, if it is time."""
        if self.critic_is_followed:
            rate = self.config.slow_critic_rate
            move_towards_(self.slow_critic, self.policy.critic, tau=rate)
