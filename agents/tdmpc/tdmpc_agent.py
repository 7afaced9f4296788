"""TD-MPC2: plans in a learnt latent space, with learnt values at the horizon.

Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", algorithm of
section 3; by config also Hansen et al. 2022, "Temporal difference learning for model predictive
control".
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn
from typing_extensions import override

from agents.replay_agent import Learned, ReplayBatch
from agents.sequence_agent import SequenceAgent, SequencesLearned
from agents.sequence_setup import check_shape
from agents.tdmpc.tdmpc_losses import (
    consistency_loss,
    discount_of,
    end_loss,
    prior_loss,
    step_weights,
    td_target,
)
from utils.buffers import SequenceBatch
from utils.config import TDMPCConfig
from utils.dataloaders import Round
from utils.errors import ConfigError, RunFailedError
from utils.normalization.percentile_scale import PercentileScale
from utils.optimization import build_optimizer, clip_and_step, set_gradients
from utils.optimization.averaging import move_towards_
from utils.planning.mppi import PathIntegralSettings
from utils.policies.fused_planning.availability import why_not as why_not_fused
from utils.policies.latent_planning_policy import LatentPlanningPolicy
from utils.rollouts.experience_collector import Step
from utils.rollouts.world_model_exploration import WorldModelExplorer
from utils.seeding import derive_seed
from utils.world_models.actions import ActionCode
from utils.world_models.latent_dynamics import LatentDynamics, LatentSettings

_MANY_ACTIONS = 20
_UNLIMITED_STEPS = 1000
"""Steps that an episode without a time limit counts as, for the discount."""


class Stretches(NamedTuple):
    """B sequences of H steps as losses read them: time-major, on the device."""

    observation: Any
    """(H + 1, B, ...) raw."""
    action: Tensor
    """(H, B, A) what was done, in [-1, 1]."""
    reward: Tensor
    """(H, B) what each step brought."""
    terminated: Tensor
    """(H, B) bool, the MDP ended with the step."""
    weight: Tensor | None
    """(B,) importance weights of prioritised draws; None without."""


class TDMPCAgent(SequenceAgent):
    """Encoder, dynamics, reward, critics and a policy prior, learnt together; actions planned."""

    config: TDMPCConfig  # type: ignore[assignment]
    policy: LatentPlanningPolicy  # type: ignore[assignment]

    @staticmethod
    @override
    def build_models(
        config: TDMPCConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> LatentPlanningPolicy:
        if not isinstance(action_space, gym.spaces.Box):
            raise ConfigError(
                f"tdmpc plans actions of a Box, and this environment has {action_space}: use "
                "dreamer, dqn or ppo for choices"
            )
        code = ActionCode(action_space, box="tanh_normal", algorithm="tdmpc")
        check_shape(config, observation_space)
        kwargs = config.policy_kwargs
        names = set(LatentSettings.__dataclass_fields__) - {"prior"}
        settings = LatentSettings(
            prior=config.prior, **{name: getattr(kwargs, name) for name in names}
        )
        model = LatentDynamics(
            observation_space, code.width, settings, predicts_end=config.episodic
        )
        n_iterations = config.n_iterations or (8 if code.width >= _MANY_ACTIONS else 6)
        planning = PathIntegralSettings(
            horizon=config.horizon,
            n_iterations=n_iterations,
            n_candidates=config.n_candidates,
            n_elites=config.n_elites,
            temperature=config.plan_temperature,
            max_std=config.plan_max_std,
            momentum=config.plan_momentum,
        )
        return LatentPlanningPolicy(
            model,
            code,
            planning,
            n_proposals=config.n_proposals,
            critics_are=config.critics_are,
        )

    # -- what learns ------------------------------------------------------------------------------

    @override
    def build_learner(self) -> None:
        super().build_learner()
        config, model = self.config, self.policy.model
        limit = self.train_env.max_episode_steps or _UNLIMITED_STEPS
        gamma = discount_of(limit) if config.gamma is None else config.gamma
        self.policy.discount.fill_(gamma)
        self.policy.min_std.fill_(self.hyperparameters["plan_min_std"])
        self._min_std = self.hyperparameters["plan_min_std"]
        self.scale = PercentileScale().to(self.compute_device)
        self.slow_critics = copy.deepcopy(model.critics).requires_grad_(False)
        self.networks |= {"scale": self.scale, "slow_critics": self.slow_critics}
        self.slow_encoder: nn.Module = model.encoder
        if config.slow_encoder:
            self.slow_encoder = copy.deepcopy(model.encoder).requires_grad_(False)
            self.networks["slow_encoder"] = self.slow_encoder
        parts = {
            "encoder": model.encoder,
            "dynamics": model.dynamics,
            "reward": model.reward,
            "critics": model.critics,
        }
        if model.end is not None:
            parts["end"] = model.end
        self.optimizers["model"] = self.build_grouped_optimizer(
            {name: (part, None) for name, part in parts.items()}
        )
        self.optimizers["model"].param_groups[0]["rate_scale"] = config.encoder_lr_scale
        self.optimizers["prior"] = self._build_prior_optimizer()
        self.learns = {
            name: [p for group in optimizer.param_groups for p in group["params"]]
            for name, optimizer in self.optimizers.items()
        }

    def _build_prior_optimizer(self) -> torch.optim.Optimizer:
        config = self.config
        published = {"eps": 1e-5} if config.optimizer.startswith("Adam") else {}
        group = {
            "params": list(self.policy.model.prior.parameters()),
            "base_lr": None,
            "rate_scale": 1.0,
            "name": "prior",
        }
        kwargs = published | dict(config.optimizer_kwargs)
        rate = self.hyperparameters["policy_lr"]
        return build_optimizer(config.optimizer, [group], lr=rate, kwargs=kwargs)

    @override
    def build_explorer(self) -> WorldModelExplorer:
        return WorldModelExplorer(
            self.policy,  # type: ignore[arg-type]
            seed=derive_seed(self.config.seed, "policy", self.part.rank),
            device=self.compute_device,
        )

    @override
    def step_check(self) -> Callable[[Step], None] | None:
        return None if self.config.episodic else self._refuse_ends

    def _refuse_ends(self, step: Step) -> None:
        if step.terminated.any():
            raise ConfigError(
                f"episodic: {self.config.env_id} has terminated an episode, and the model does not "
                "learn ends unless episodic is true: set episodic: true"
            )

    # -- one update -------------------------------------------------------------------------------

    @override
    def run_round(self, due: Round) -> None:
        if self.source.buffer.n_sequences == 0:
            raise RunFailedError(
                f"no episode so far has the {self.config.horizon} steps that tdmpc learns from at "
                "once: set a smaller horizon"
            )
        super().run_round(due)

    @override
    def before_updates(self) -> None:
        timesteps = self.source.collector.timesteps
        wanted = self.value_now("plan_min_std", timesteps)
        if wanted != self._min_std:
            self._min_std = wanted
            self.policy.min_std.fill_(wanted)

    @override
    def learn(self, batch: ReplayBatch) -> Learned:
        raise AssertionError("TD-MPC learns from sequences")

    @override
    def prepare(self, batch: SequenceBatch) -> Stretches:  # type: ignore[override]
        """Return a batch as losses read it: what came with row t + 1 belongs to step t."""
        device = self.compute_device

        def time_major(part: Any) -> Any:
            if isinstance(part, dict):
                return {key: time_major(value) for key, value in part.items()}
            return part.to(device).transpose(0, 1)

        weight = getattr(batch, "weight", None)
        return Stretches(
            time_major(batch.observation),
            time_major(batch.action)[:-1],
            time_major(batch.reward)[1:],
            time_major(batch.terminated)[1:],
            None if weight is None else weight.to(device),
        )

    @override
    def learn_from_sequences(self, batch: Stretches) -> SequencesLearned:  # type: ignore[override]
        with self.reduced_precision():
            encoded, target = self.look_ahead(batch)
        with self.reduced_precision():
            losses, states, error = self.model_losses(batch, encoded, target)
        metrics = {f"train/loss/{name}": loss.detach() for name, loss in losses.items()}
        self.step("model", sum(losses.values()), metrics)
        with self.reduced_precision():
            of_prior, said = self.loss_of_prior(states.detach(), batch.terminated)
        metrics |= said | {"train/loss/prior": of_prior.detach()}
        metrics["train/tdmpc/target_mean"] = target.mean()
        self.step("prior", of_prior, metrics)
        self.follow()
        return SequencesLearned(metrics, {}, error)

    @torch.no_grad()
    def look_ahead(self, batch: Stretches) -> tuple[Tensor, Tensor]:
        """Return what each step led to, encoded, (H, B, L), and TD targets, (H, B)."""
        policy, model, config = self.policy, self.policy.model, self.config
        following = _rows(batch.observation, slice(1, None))
        shifts = self._draw_shifts(*batch.reward.shape)
        encoded = model.encoder(following, n_leading=2, shifts=shifts)
        noise = self._draw_normal(batch.action.shape)
        action = model.prior(encoded, noise, policy.min_std).action
        output = self.slow_critics(torch.cat([encoded, action], dim=-1))
        drawn = torch.rand(len(output), generator=self.noise_generator, device=self.compute_device)
        pair = drawn.argsort()[:2]
        target = td_target(
            reward=batch.reward,
            terminated=batch.terminated,
            next_value=model.number.mean(output).index_select(0, pair),
            gamma=policy.discount,
        )
        if config.slow_encoder:
            encoded = self.slow_encoder(following, n_leading=2, shifts=shifts)
        return encoded, target

    def model_losses(
        self, batch: Stretches, encoded: Tensor, target: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Return the scaled losses by name, () each, states (H + 1, B, L), and errors (B,)."""
        config, model = self.config, self.policy.model
        first = _rows(batch.observation, 0)
        latent = model.encoder(first, n_leading=1, shifts=self._draw_shifts(1, len(encoded[0])))
        states = model.roll_out(latent, batch.action)
        pairs = torch.cat([states[:-1], batch.action], dim=-1)
        values = model.critics(pairs, self._draw_kept(*batch.reward.shape))
        terms = {
            "consistency": config.consistency_scale * consistency_loss(states[1:], encoded),
            "reward": config.reward_loss_scale
            * model.number.loss(model.reward(pairs), batch.reward),
            "value": config.value_loss_scale
            * model.number.loss(values, target.expand(len(values), -1, -1)).mean(dim=0),
        }
        if model.end is not None:
            terms["end"] = config.end_loss_scale * end_loss(
                model.end(states[1:]).squeeze(-1), batch.terminated
            )
        weight = step_weights(batch.terminated, decay=config.step_decay)
        error = None
        if config.prioritized_replay:
            with torch.no_grad():
                apart = (model.number.mean(values) - target).abs().mean(dim=0)
                error = (weight * apart).sum(dim=0)
        if batch.weight is not None:
            weight = weight * batch.weight
        return {name: (weight * term).mean() for name, term in terms.items()}, states, error

    def loss_of_prior(self, states: Tensor, terminated: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of the prior, (), and what it tells.

        Args:
            states: (H + 1, B, L) that the model predicted; no gradient flows.
            terminated: (H, B) bool
        """
        config, policy = self.config, self.policy
        noise = self._draw_normal((*states.shape[:-1], policy.code.width))
        proposed = policy.model.prior(states, noise, policy.min_std)
        value = policy.judge(states, proposed.action)
        scale = torch.ones_like(value[0, 0])
        if config.normalize_values:
            self.scale.update(self.rows_of_all(value[0].detach()))
            scale = self.scale.scale()
        loss = prior_loss(
            value=value, entropy=proposed.entropy, scale=scale, ent_coef=config.ent_coef
        )
        no_end = torch.zeros_like(terminated[:1])
        weight = step_weights(torch.cat([terminated, no_end]), decay=config.step_decay)
        metrics = {
            "train/tdmpc/value_mean": value.detach().mean(),
            "train/tdmpc/value_scale": scale.detach(),
            "train/tdmpc/prior_entropy": proposed.entropy.detach().mean(),
        }
        return (weight * loss).mean(), metrics

    def step(self, name: str, loss: Tensor, metrics: dict[str, Tensor]) -> None:
        """Take one step of an optimiser against a loss (); the gradient is bounded as a whole."""
        parameters = self.learns[name]
        set_gradients(loss, parameters)
        self.join_gradients(parameters)
        limit = self.hyperparameters.get("max_grad_norm")
        norms = clip_and_step(self.optimizers[name], parameters, max_grad_norm=limit)
        metrics[f"train/grad/{name}"] = norms.norm()

    @property
    def is_followed(self) -> bool:
        """Whether the slow networks follow after the update that comes."""
        return (self.n_learnt + 1) % self.config.slow_every_updates == 0

    @override
    def update_kind(self) -> Hashable:
        return (*self.hooks, self.is_followed)

    def follow(self) -> None:
        """Let the slow networks follow, if it is time."""
        if not self.is_followed:
            return
        model, rate = self.policy.model, self.config.slow_rate
        move_towards_(self.slow_critics, model.critics, tau=rate)
        if self.config.slow_encoder:
            move_towards_(self.slow_encoder, model.encoder, tau=rate)

    # Numbers for this process's B sequences, drawn for those of all processes.

    def _draw_normal(self, shape: tuple[int, int, int]) -> Tensor:
        """Return standard normal numbers, (T, B, ...)."""
        n_steps, n_sequences, width = shape
        drawn = torch.randn(
            (n_steps, self.part.whole(n_sequences), width),
            generator=self.noise_generator,
            device=self.compute_device,
        )
        return self.part.own(drawn, dim=1)

    def _draw_shifts(self, n_steps: int, n_sequences: int) -> Tensor | None:
        """Return how far the pictures of T steps of B sequences are moved, (M, T * B, 2)."""
        drawn = self.policy.model.encoder.draw_shifts(
            n_steps * self.part.whole(n_sequences),
            most=self.config.policy_kwargs.picture_shift,
            generator=self.noise_generator,
        )
        if drawn is None:
            return None
        return self.part.own(drawn.unflatten(1, (n_steps, -1)), dim=2).flatten(1, 2)

    def _draw_kept(self, n_steps: int, n_sequences: int) -> Tensor | None:
        """Return the dropout of the critics at T steps of B sequences, (E, T * B, ...)."""
        drawn = self.policy.model.critics.draw_kept(
            n_steps * self.part.whole(n_sequences),
            dropout=self.config.policy_kwargs.dropout,
            generator=self.noise_generator,
        )
        if drawn is None:
            return None
        return self.part.own(drawn.unflatten(1, (n_steps, -1)), dim=2).flatten(1, 2)

    @override
    def describe_learning(self) -> list[str]:
        planning = self.policy.settings
        line = (
            f"plans: {planning.horizon} steps ahead, {planning.n_candidates} candidates "
            f"{planning.n_iterations} times, discount {float(self.policy.discount):g}"
        )
        if self.compute_device.type == "cuda":
            reason = why_not_fused(self.policy)
            line += f", not fused because {reason}" if reason else ", by fused kernels"
        return [*super().describe_learning(), line]


def _rows(observation: Any, rows: slice | int) -> Any:
    """Return some rows of observations (H + 1, B, ...), or of each part of a Dict."""
    if isinstance(observation, dict):
        return {key: part[rows] for key, part in observation.items()}
    return observation[rows]
