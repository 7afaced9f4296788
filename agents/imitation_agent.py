"""The life of an agent that learns from demonstrations."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from agents.base_agent import BaseAgent
from agents.replay_records import UpdateLog
from utils.config import ImitationConfig
from utils.dataloaders.window_source import WindowBatch, WindowSource
from utils.demonstrations.load import load_demonstrations
from utils.demonstrations.windows import Window, Windows, split_episodes
from utils.normalization import fit_min_max_
from utils.optimization import build_optimizer, clip_and_step, set_learning_rate
from utils.schedules import schedule_value
from utils.seeding import derive_seed
from utils.text_tables import counted

MOST_JUDGED = 4096
"""Windows kept apart that an epoch is judged by, at most; evenly over all of them."""
_JUDGED_AT_ONCE = 512


class ImitationAgent(BaseAgent):
    """One epoch is some updates from minibatches of demonstrations, and a look at those kept apart.

    An algorithm says:

    - `build_models`: its policy, with `normalizer` and `action_scale`, which are fitted here;
    - `build_student`: the module that is optimised;
    - `n_observations` and `n_actions` of a window;
    - `losses(window, generator)`: one value for each row and what else is worth telling;
    - `after_update`, if the acting weights follow the student.

    *timesteps* are steps of the demonstrations that were learnt from.
    """

    config: ImitationConfig
    source: WindowSource

    # -- what an algorithm says -------------------------------------------------------------------

    @abstractmethod
    def build_student(self) -> nn.Module:
        """Return the module that learns: the policy's own, or a copy of it."""

    @abstractmethod
    def losses(self, window: Window, generator: torch.Generator, *, is_learning: bool) -> Tensor:
        """Return the loss of each row of a minibatch, (B,).

        Args:
            window: On the device; observations normalised, actions scaled, see `prepare`.
            generator: Source of randomness, on the CPU.
            is_learning: By the student, with all that makes learning robust; else by what acts.
        """

    @abstractmethod
    def action_error(self, window: Window, generator: torch.Generator) -> Tensor:
        """Return how far what acts is from the demonstrated action, (B,); see `losses`."""

    @property
    def n_observations(self) -> int:
        """Observations of a window."""
        return 1

    @property
    def n_actions(self) -> int:
        """Actions of a window."""
        return 1

    def after_update(self) -> None:
        """Let what acts follow the student."""

    # -- what learns ------------------------------------------------------------------------------

    @override
    def build_learner(self) -> None:
        config = self.config
        self.student = self.build_student()
        self.parameters_learnt = [p for p in self.student.parameters() if p.requires_grad]
        self.optimizer = build_optimizer(
            config.optimizer,
            self.parameters_learnt,
            lr=self.hyperparameters["policy_lr"],
            kwargs=config.optimizer_kwargs,
        )
        self.generator = torch.Generator().manual_seed(derive_seed(config.seed, "learner"))
        self.log = UpdateLog()

    @override
    def build_source(self) -> WindowSource:
        config = self.config
        seed = derive_seed(config.seed, "demonstrations")
        data = load_demonstrations(config, self.train_env, seed=seed)
        learnt, kept_apart = split_episodes(
            data,
            val_fraction=config.val_fraction,
            generator=torch.Generator().manual_seed(derive_seed(config.seed, "demonstrations", 1)),
        )
        widths = {"n_observations": self.n_observations, "n_actions": self.n_actions}
        every = max(1, math.ceil(len(kept_apart) / MOST_JUDGED))
        self.judged = Windows(data, kept_apart[::every], **widths)
        fit_min_max_(self.policy.normalizer, data.rows(learnt))
        if self.policy.action_scale is not None:
            self.policy.action_scale.fit_(data.action[learnt])
        self.demonstrations = data
        return WindowSource(
            Windows(data, learnt, **widths),
            batch_size=config.batch_size,
            n_updates=lambda: min(config.updates_per_epoch, self._updates_left()),
            seed=derive_seed(config.seed, "minibatch"),
        )

    def _updates_left(self) -> int:
        missing = self.config.max_timesteps - self.counters.timesteps
        return max(1, math.ceil(missing / self.config.batch_size))

    # -- one epoch --------------------------------------------------------------------------------

    @override
    def learn_from(self, batch: WindowBatch) -> None:
        started = time.perf_counter()
        self.policy.eval()
        self.student.train()
        for window in batch.minibatches():
            self._learn(self.prepare(window))
        n_updates, size = batch.index_table.shape
        self.counters.timesteps += n_updates * size
        self.recorder.record("train/time/update_seconds", time.perf_counter() - started)
        self._record()
        self._judge()
        self.finish_epoch()

    def _learn(self, window: Window) -> None:
        """Take one optimiser step."""
        set_learning_rate(self.optimizer, self._learning_rate())
        for parameter in self.parameters_learnt:
            parameter.grad = None
        loss = self.losses(window, self.generator, is_learning=True).mean()
        loss.backward()
        norm = clip_and_step(
            self.optimizer,
            self.parameters_learnt,
            max_grad_norm=self.hyperparameters.get("max_grad_norm"),
        ).norm()
        self.log.add({"train/imitation/loss": loss.detach(), "train/grad/norm": norm.detach()})
        self.after_update()
        self.counters.updates += 1

    def _learning_rate(self) -> float:
        """Return the rate of the coming update: the schedule's, times how far the warm-up is."""
        config, n_updates = self.config, self.counters.updates
        timesteps = min(n_updates * config.batch_size, config.max_timesteps)
        rate = schedule_value(
            config.policy_lr, timesteps=timesteps, max_timesteps=config.max_timesteps
        )
        return rate * min(1.0, (n_updates + 1) / max(1, config.warmup_updates))

    def prepare(self, window: Window) -> Window:
        """Return a window as losses read it: on the device, observations and actions scaled."""
        device, normalizer = self.compute_device, self.policy.normalizer
        observation = _to(window.observation, device)
        if not normalizer.is_identity:
            shape = window.is_real.shape[0], self.n_observations
            observation = _unflatten(normalizer(_flatten(observation)), shape)
        action = window.action.to(device)
        if self.policy.action_scale is not None:
            action = self.policy.action_scale(action)
        return Window(observation, action, window.is_real.to(device))

    def _record(self) -> None:
        means, diverged = self.log.flush()
        if diverged is not None:
            key, value, update = diverged
            self.stop_diverged(key, value, where=f"update {update + 1} of the epoch, ")
        self.recorder.record_many(means)
        passes = self.counters.timesteps / len(self.source.windows)
        self.recorder.record("train/imitation/passes", passes)

    @torch.no_grad()
    def _judge(self) -> None:
        """Record the loss on what was kept apart, with the same noise in every epoch."""
        if not len(self.judged):
            return
        generator = torch.Generator().manual_seed(derive_seed(self.config.seed, "val"))
        losses, errors = [], []
        for index in torch.arange(len(self.judged)).split(_JUDGED_AT_ONCE):
            window = self.prepare(self.judged.gather(index))
            losses.append(self.losses(window, generator, is_learning=False))
            errors.append(self.action_error(window, generator))
        self.recorder.record("val/imitation/loss", float(torch.cat(losses).mean()))
        self.recorder.record("val/imitation/action_error", float(torch.cat(errors).mean()))

    # -- what it says, and its saved state --------------------------------------------------------

    @override
    def describe_learning(self) -> list[str]:
        data, config = self.demonstrations, self.config
        n_apart = data.n_episodes * config.val_fraction
        apart = f", about {n_apart:.0f} episodes kept apart" if len(self.judged) else ""
        size = f"{data.nbytes / 2**20:,.1f} MiB"
        n_updates = math.ceil(config.max_timesteps / config.batch_size)
        return [
            f"demonstrations: {config.dataset}, {counted(data.n_episodes, 'episode')} of "
            f"{len(data):,} steps ({size}), mean return {float(data.returns.mean()):.2f}{apart}",
            f"{counted(n_updates, 'update')} of {config.batch_size} steps, "
            f"{config.max_timesteps / len(self.source.windows):,.1f} passes; a timestep is here a "
            "step that is learnt from",
        ]

    @override
    def learner_state(self) -> dict[str, Any]:
        return {
            "student": self.student.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "learner_generator": self.generator.get_state(),
        }

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        self.student.load_state_dict(state["student"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["learner_generator"])

    @override
    def take_over_policy(self, state: Mapping[str, Any]) -> None:
        if "student" in state:
            self.student.load_state_dict(state["student"])


def _to(observation: Any, device: torch.device) -> Any:
    if isinstance(observation, dict):
        return {key: part.to(device) for key, part in observation.items()}
    return observation.to(device)


def _flatten(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: part.flatten(0, 1) for key, part in observation.items()}
    return observation.flatten(0, 1)


def _unflatten(observation: Any, shape: tuple[int, int]) -> Any:
    if isinstance(observation, dict):
        return {key: part.unflatten(0, shape) for key, part in observation.items()}
    return observation.unflatten(0, shape)
