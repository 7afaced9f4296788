"""The life of an agent that learns a model of the world from replayed sequences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from agents.captured_sequences import CapturedSequences, why_not_captured
from agents.replay_agent import ReplayAgent
from agents.sequence_setup import build_sequence_source
from utils.buffers import SequenceBatch
from utils.config import WorldModelConfig
from utils.dataloaders import Round
from utils.dataloaders.sequence_source import SequenceSource
from utils.models.fast_products import products_by_tensor_cores
from utils.optimization import build_optimizer
from utils.policies.world_model_policy import Belief
from utils.rollouts.experience_collector import Step
from utils.seeding import derive_seed
from utils.world_models import Observed, State, balanced_divergence

SMALLEST_REWARD = 1e-2
"""Mean size of rewards below which their error is a share of this."""


class Sequences(NamedTuple):
    """B sequences of T steps as losses read them: time-major, on the device."""

    observation: Any
    """(T, B, ...) raw."""
    previous_action: Tensor
    """(T, B, A) what was done before each step, encoded."""
    reward: Tensor
    """(T, B) that arrived with each step."""
    is_first: Tensor
    """(T, B) bool, an episode began there."""
    terminated: Tensor
    """(T, B) bool, the MDP ended there."""
    truncated: Tensor
    """(T, B) bool, the episode was cut off there."""
    before: State
    """(B, ...) what was believed before the first step."""


class SequencesLearned(NamedTuple):
    """What one update says."""

    metrics: dict[str, Tensor]
    """Metric key -> detached scalar; the same keys for the same hooks."""
    memory: dict[str, Tensor]
    """Fields of the buffer -> (B, T, ...) what is remembered of the batch for the next time."""
    error: Tensor | None = None
    """(B,) how wrong the learner was, the priority from now on; None keeps priorities."""


class SequenceAgent(ReplayAgent):
    """A `ReplayAgent` whose batches are sequences, and whose policy remembers.

    An algorithm says `build_models`, `build_learner`, `build_explorer`, and what one update is by
    `learn_from_sequences`, which looks at `hooks`: the work that the phase asks for.
    """

    config: WorldModelConfig  # type: ignore[assignment]
    source: SequenceSource
    policy: Belief  # type: ignore[assignment]

    calmer_numbers = "or a smaller reward_scale"

    @override
    def build_learner(self) -> None:
        super().build_learner()
        self.hooks: tuple[str, ...] = self.config.UPDATE_HOOKS
        self.noise_generator = torch.Generator(device=self.compute_device)
        self.noise_generator.manual_seed(self.learner_seed)
        is_auto = self.config.precision == "auto"
        self.is_half = self.config.precision == "bfloat16" or (
            is_auto and self.compute_device.type == "cuda"
        )

    @property
    def learner_seed(self) -> int:
        """The seed of what learning draws."""
        return derive_seed(self.config.seed, "learner")

    @abstractmethod
    def learn_from_sequences(self, batch: Sequences) -> SequencesLearned:
        """Take the optimiser steps of one update, of what `hooks` names."""

    @override
    def build_source(self) -> SequenceSource:
        return build_sequence_source(
            self.config,
            self.train_env,
            self.policy,
            self.build_explorer(),
            self.compute_device,
            rank=self.part.rank,
            on_step=self.step_check(),
        )

    def step_check(self) -> Callable[[Step], None] | None:
        """Return what looks at every step that is collected; None where nothing does."""
        return None

    @override
    def run_round(self, due: Round) -> None:
        self.hooks = due.hooks
        self.make_updates(due.n_updates)

    @override
    @cached_property
    def captured(self) -> CapturedSequences | None:  # type: ignore[override]
        return None if why_not_captured(self) else CapturedSequences(self)

    @override
    def update_kind(self) -> Hashable:
        return self.hooks

    @override
    def learner_generators(self) -> list[torch.Generator]:
        return [self.noise_generator]

    @override
    def make_updates_one_by_one(self, n_updates: int) -> None:
        buffer, n_context = self.source.buffer, self.config.rows_of_context
        beta = self.hyperparameters.get("importance_exponent")
        for _ in range(n_updates):
            batch = self.source.sample(beta=beta)
            self.set_rates()
            with products_by_tensor_cores():
                learned = self.learn_from_sequences(self.prepare(batch))
            if learned.memory:
                buffer.write_state(batch.index[:, n_context:], learned.memory)
            if learned.error is not None:
                buffer.update_priorities(batch.index[:, 0], learned.error)
            self.log.add(learned.metrics)
            self.count_update()

    @property
    def n_learnt(self) -> int:
        """Updates of the run so far."""
        return self.counters.updates + self.log.n_updates

    def set_rates(self) -> None:
        """Set every learning rate for the update that comes."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = self.rate_of(group)

    def rate_of(self, group: dict[str, Any]) -> float:
        """Return the learning rate of a group of parameters for the update that comes."""
        n_warm, base = self.config.lr_warmup_updates, group["base_lr"]
        rate = self.hyperparameters["policy_lr"] if base is None else base
        warmth = min(1.0, (self.n_learnt + 1) / n_warm) if n_warm else 1.0
        return rate * group["rate_scale"] * warmth

    def fields_of(self, state: State) -> dict[str, Tensor]:
        """Return states (T, B, ...) as the buffer holds them, (B, T, ...); none without context."""
        if not self.config.rows_of_context:
            return {}
        latent = self.policy.world_model.rssm.latent
        deter, stoch = state.deter.detach(), latent.pack(state.stoch.detach())
        return {"deter": deter.transpose(0, 1), "stoch": stoch.transpose(0, 1)}

    @override
    def prepare(self, batch: SequenceBatch) -> Sequences:  # type: ignore[override]
        """Return a batch as losses read it."""
        n = self.config.replay_context
        device, rssm = self.compute_device, self.policy.world_model.rssm
        action = self.policy.code.encode(batch.action.to(device)).transpose(0, 1)
        before = rssm.initial(action.shape[1])
        if n:
            stoch = rssm.latent.unpack(batch.state["stoch"][:, 0].to(device))
            before = State(batch.state["deter"][:, 0].to(device).float(), stoch)
            previous = action[:-1]
        else:  # nobody knows what was done before the first step
            previous = torch.cat([torch.zeros_like(action[:1]), action[:-1]])

        def time_major(part: Any) -> Any:
            if isinstance(part, dict):
                return {key: time_major(value) for key, value in part.items()}
            return part[:, n:].to(device).transpose(0, 1)

        return Sequences(
            time_major(batch.observation),
            previous,
            time_major(batch.reward),
            time_major(batch.is_first),
            time_major(batch.terminated),
            time_major(batch.truncated),
            before,
        )

    def observe(self, batch: Sequences) -> Observed:
        """Go through a batch with the world model."""
        model = self.policy.world_model
        embedding = model.encoder(batch.observation, n_leading=2)
        n_steps, n_sequences = batch.is_first.shape
        shape = (n_steps, self.part.whole(n_sequences))
        noise = self.part.own(model.rssm.latent.draw_noise(shape, self.noise_generator), dim=1)
        return model.rssm.observe(
            batch.before, batch.previous_action, embedding, batch.is_first, noise
        )

    def model_losses(
        self, batch: Sequences, observed: Observed, *, goes_on: Tensor
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the scaled losses of the world model by name, () each, and what they tell.

        Args:
            batch: What was observed.
            observed: What the model made of it.
            goes_on: (T, B) what the probability of going on shall become, if the model tells it.
        """
        config, model = self.config, self.policy.world_model
        features = observed.state.features
        terms = model.decoder.loss(model.decoder(features), batch.observation)
        reward = model.reward(features)
        terms["reward"] = config.reward_loss_scale * model.reward.loss(reward, batch.reward)
        if model.goes_on is not None:
            terms["continue"] = model.goes_on.loss(model.goes_on(features), goes_on)
        latent = model.rssm.latent
        dynamics, representation = balanced_divergence(
            latent,
            observed.posterior,
            observed.prior,
            free_nats=config.free_nats,
            of_mean=config.free_nats_of_mean,
            mean_of_all=None if self.shared is None else self.shared.mean,
        )
        terms["dynamics"] = config.dynamics_scale * dynamics
        terms["representation"] = config.representation_scale * representation
        with torch.no_grad():
            missed = (model.reward.mean(reward) - batch.reward).abs().mean()
            metrics = {
                "train/world_model/reward_error": missed
                / batch.reward.abs().mean().clamp_min(SMALLEST_REWARD),
                "train/world_model/divergence": latent.divergence(
                    observed.posterior, observed.prior
                ).mean(),
                "train/world_model/prior_entropy": latent.entropy(observed.prior).mean(),
                "train/world_model/posterior_entropy": latent.entropy(observed.posterior).mean(),
            }
        return {name: term.mean() for name, term in terms.items()}, metrics

    def reduced_precision(self) -> AbstractContextManager[Any]:
        """Return the context in which matrix products are made in the configured precision.

        Each stretch with or without gradients has a context of its own: weights that were rounded
        in one without must not be used in one with.
        """
        if not self.is_half:
            return nullcontext()
        return torch.autocast(self.compute_device.type, torch.bfloat16)

    def build_grouped_optimizer(
        self, groups: dict[str, tuple[nn.Module, float | None]]
    ) -> torch.optim.Optimizer:
        """Build one optimiser with a group of parameters for each part.

        Args:
            groups: Name -> module and its own learning rate, None for `policy_lr`.
        """
        config = self.config
        kwargs = dict(config.optimizer_kwargs)
        if config.optimizer == "LaProp":
            kwargs["agc"] = config.agc
        parameters = [
            {
                "params": list(module.parameters()),
                "base_lr": rate,
                "rate_scale": 1.0,
                "name": name,
            }
            for name, (module, rate) in groups.items()
        ]
        rate = self.hyperparameters["policy_lr"]
        return build_optimizer(config.optimizer, parameters, lr=rate, kwargs=kwargs)

    def step_groups(self, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
        """Take a step with the gradients that the parameters hold; returns norms by group."""
        norms = {}
        self.join_gradients(p for group in optimizer.param_groups for p in group["params"])
        limit = self.hyperparameters.get("max_grad_norm")
        for group in optimizer.param_groups:
            gradients = [p.grad for p in group["params"] if p.grad is not None]
            if not gradients:
                continue
            norm = torch.stack(torch._foreach_norm(gradients)).norm()
            if limit is not None:
                torch._foreach_mul_(gradients, (limit / (norm + 1e-6)).clamp_max_(1.0))
            norms[f"train/grad/{group['name']}"] = norm
        optimizer.step()
        return norms

    @override
    def describe_learning(self) -> list[str]:
        config, buffer = self.config, self.source.buffer
        length = config.rows_of_sequence - config.rows_of_context
        lines = [
            f"replay: {self.part.whole(buffer.capacity):,} steps "
            f"({self.part.whole(buffer.nbytes_declared) / 2**20:,.1f} MiB), "
            f"an update of {config.batch_size} x {length} for every "
            f"{float(1 / config.exact_replay_ratio):g} timesteps, from timestep "
            f"{config.timesteps_before_updates:,} on"
        ]
        lines += self.describe_parts()
        if not config.save_replay:
            lines.append(
                "the buffer is not saved: a resumed run fills an empty one for "
                f"{config.timesteps_before_updates:,} timesteps before it learns on"
            )
        n_parameters = sum(p.numel() for p in self.policy.parameters())
        size = f"size {name}, " if (name := config.policy_kwargs.named_size) else ""
        precision = "bfloat16" if self.is_half else "float32"
        lines.append(f"model: {n_parameters:,} parameters, {size}{precision}")
        if config.timesteps_before_updates >= config.max_timesteps:
            lines.append(
                f"note: nothing is learnt, for the run ends at timestep {config.max_timesteps:,}"
            )
        return lines

    @override
    def learner_state(self) -> dict[str, Any]:
        return super().learner_state() | {"noise_generator": self.noise_generator.get_state()}

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        super().load_learner_state(state)
        if state["device"] == self.config.device:  # other devices draw other numbers
            self.noise_generator.set_state(state["noise_generator"])
