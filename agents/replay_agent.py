"""The life of an agent that learns from a replay buffer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn
from typing_extensions import override

from agents.base_agent import BaseAgent
from agents.captured_replay import CapturedUpdates, why_not_captured
from agents.replay_records import UpdateLog, record_episodes
from agents.replay_setup import build_replay_source
from agents.replay_update import N_AT_ONCE
from utils.buffers import TransitionBatch
from utils.checkpoints.pointers import follow
from utils.config import OffPolicyConfig
from utils.dataloaders import HookBatch, ReplaySource, Round
from utils.dataloaders.replay_source import split_mask
from utils.distributed.part import Part
from utils.errors import CheckpointError
from utils.models.fast_products import fast_products
from utils.optimization import build_optimizer, clip_and_step, set_learning_rate
from utils.optimization.layout import lay_like_parameters
from utils.phases import PHASES_DONE_KEY
from utils.rollouts.experience_collector import Explorer
from utils.schedules import schedule_value

if TYPE_CHECKING:
    from agents.shared_replay import SharedReplay
    from utils.distributed.team import Team

REPLAY_SUFFIX = ".replay"
_BUFFER = "buffer"
"""Of the leader: save yours beside this checkpoint."""


class Learned(NamedTuple):
    """What one update says."""

    metrics: dict[str, Tensor]
    """Metric key -> detached scalar; the same keys in every update of a run."""
    error: Tensor | None = None
    """(B,) absolute error of each transition, its priority from now on; None keeps priorities."""


class ReplayBatch(NamedTuple):
    """B transitions as losses read them: on the device, observations normalised, masks apart."""

    observation: Any
    """(B, ...)"""
    action: Tensor
    """(B, ...) as the explorer stored it."""
    reward: Tensor
    """(B,) sum of gamma^i r_i over n steps."""
    discount: Tensor
    """(B,) gamma^n, or 0 where the decision process ended."""
    next_observation: Any
    """(B, ...) what the n steps led to; the final observation where the episode ended."""
    next_mask: Tensor | None
    """(B, n) bool, which actions that allows; None without action masks."""
    mask: Tensor | None
    """(B, n) bool, which actions the observation allows; None without action masks."""
    weight: Tensor | None
    """(B,) importance weights of prioritised draws; None without."""


class ReplayAgent(BaseAgent):
    """One epoch is some vector steps and the updates that the replay ratio asks for.

    An algorithm says five things:

    - `build_models`: its policy (see `utils.policies.Policy`), static, so that play can call it;
    - `build_learner`: what learns beside the policy. Every module that a checkpoint must hold goes
      into `self.networks`, every optimiser into `self.optimizers`, both by name;
    - `build_explorer`: how actions are chosen while collecting (see `Explorer`);
    - `learn(batch)`: the optimiser steps of one update;
    - `before_updates`, if it has something to do between collecting and learning.

    Everything else (buffer, phases, warm-up, exact counts, saving) is here.
    `make_updates_one_by_one` is the reference that faster ways of the same updates are held to.
    """

    config: OffPolicyConfig
    source: ReplaySource

    calmer_numbers = "normalize_obs, or a smaller reward_scale"

    shared: SharedReplay | None = None
    """Joins what several processes compute; None for one alone."""

    # -- what an algorithm says ---------------------------------------------------------------

    @override
    def build_learner(self) -> None:
        self.networks: dict[str, nn.Module] = {}
        """What a checkpoint holds beside the policy, by name."""
        self.optimizers: dict[str, torch.optim.Optimizer] = {}
        """By name."""
        self.log = UpdateLog()
        self.part = Part()
        """Which rows of every batch are this process's."""
        if self.team is not None:
            from agents.shared_replay import SharedReplay

            assert self.share is not None
            self.shared = SharedReplay(self.team, self.share)
            self.part = Part(self.team.rank, self.team.size)

    @abstractmethod
    def build_explorer(self) -> Explorer:
        """Build what chooses actions while experience is collected."""

    @abstractmethod
    def learn(self, batch: ReplayBatch) -> Learned:
        """Take the optimiser steps of one update."""

    def before_updates(self) -> None:
        """Do what is due between collecting and the updates of a round."""

    @override
    def networks_by_name(self) -> dict[str, nn.Module]:
        return super().networks_by_name() | self.networks

    @override
    def all_optimizers(self) -> list[torch.optim.Optimizer]:
        return list(self.optimizers.values())

    @override
    def phases(self) -> list[tuple[Any, str, str]]:
        return [
            *super().phases(),
            (self.source, "collect", "collect"),
            (self, "run_round", "update"),
            (self, "learn", "forward, backward and steps"),
        ]

    # -- one epoch ------------------------------------------------------------------------------

    @property
    def acting_device(self) -> torch.device:
        """Where the explorer wants observations."""
        return self.compute_device

    @override
    def build_source(self) -> ReplaySource:
        return build_replay_source(
            self.config,
            self.train_env,
            self.policy,
            self.build_explorer(),
            self.compute_device,
            acting_device=self.acting_device,
            rank=self.part.rank,
        )

    @override
    def learn_from(self, batch: HookBatch) -> None:
        seconds = 0.0
        for due in self.source.plan.rounds():
            if due.is_evaluation:
                self._evaluate_phase()
                continue
            started = time.perf_counter()
            self.carry_out(due)
            seconds += time.perf_counter() - started
        learnt = self.log.seconds
        collected = seconds - learnt
        summary = self.source.summarize()
        if self.shared is not None:
            summary = self.shared.join(summary, self.source.collector.stepper)
        self.count(summary)
        self.counters.updates += self.log.n_updates
        self._record(summary, collected=collected, learnt=learnt)
        self.finish_epoch()

    @override
    def counts_now(self) -> tuple[int, int]:
        return self.source.collector.timesteps, self.counters.updates + self.log.n_updates

    @property
    @override
    def phases_done(self) -> float:
        return self.source.plan.scheduler.position

    @property
    def learns_meanwhile(self) -> bool:
        """Whether a round's updates are made while the environments take its last vector step.

        A GPU works by itself: it can learn while the host is busy with environments. These updates
        know of all that was stored before, so not of that one step.
        """
        return False

    def carry_out(self, due: Round) -> None:
        """Make the vector steps of a round and the updates that are due with it."""
        if due.n_updates and due.n_vec_steps and self.learns_meanwhile:
            self.source.collect(due, meanwhile=partial(self._learn_round, due))
            return
        self.source.collect(due)
        if due.n_updates:
            self._learn_round(due)

    def _learn_round(self, due: Round) -> None:
        started = time.perf_counter()
        self.before_updates()
        self.run_round(due)
        # Setting an attribute of a module takes several times as long.
        self.log.seconds += time.perf_counter() - started

    def _evaluate_phase(self) -> None:
        if self.team is None or self.team.is_leader:
            self.evaluate()

    def run_round(self, due: Round) -> None:
        """Carry out the updates of a round; each is one turn through the hooks of its phase."""
        assert due.hooks == ("update",), due
        self.make_updates(due.n_updates)

    def make_updates(self, n_updates: int) -> None:
        """Draw batches and learn from each, the fastest way there is."""
        if self.captured is not None:
            self.captured.make_updates(n_updates)
        else:
            self.make_updates_one_by_one(n_updates)

    @cached_property
    def captured(self) -> CapturedUpdates | None:
        """What replays updates as graphs of a GPU; None where that cannot be done."""
        return None if why_not_captured(self) else CapturedUpdates(self)

    def torch_path(self, reason: str) -> str:
        """Say how torch carries out updates, `reason` being why nothing faster on the CPU does."""
        is_captured = why_not_captured(self) is None
        return "updates as captured graphs" if is_captured else f"updates by torch ({reason})"

    def update_kind(self) -> Hashable:
        """Say which of several kinds of update is due, where they are not all alike."""
        return None

    def count_update(self) -> None:
        """Take note that an update was made, where the next one depends on it."""

    def learner_tensors(self) -> list[Tensor]:
        """Return the tensors that `learn` changes beside networks and optimisers."""
        return []

    def learner_generators(self) -> list[torch.Generator]:
        """Return the generators that `learn` draws from."""
        return []

    def make_updates_one_by_one(self, n_updates: int) -> None:
        """Draw batches and learn from each, one after another: the reference."""
        for optimizer in self.optimizers.values():
            set_learning_rate(optimizer, self.hyperparameters["policy_lr"])
        is_prioritized = self.config.prioritized_replay
        with fast_products():
            for batch in self._batches(n_updates):
                learned = self.learn(self.prepare(batch))
                if is_prioritized and learned.error is not None:
                    self.source.buffer.update_priorities(batch.index, learned.error)
                self.log.add(learned.metrics)
                self.count_update()

    def _batches(self, n_updates: int) -> Iterator[TransitionBatch]:
        """Yield the batches of some updates; all are drawn first where none depends on another."""
        if self.config.prioritized_replay:
            for _ in range(n_updates):
                yield self.source.sample(beta=self.hyperparameters["importance_exponent"])
            return
        for index in self.source.draw(n_updates):
            yield self.source.buffer.gather(index)

    def batches_at_once(self, n_updates: int) -> Iterator[TransitionBatch]:
        """Yield the batches of some updates, many in one where none depends on the one before."""
        if self.config.prioritized_replay:
            yield from self._batches(n_updates)
            return
        for first in range(0, n_updates, N_AT_ONCE):
            table = self.source.draw(min(N_AT_ONCE, n_updates - first))
            yield self.source.buffer.gather(table.reshape(-1))

    def prepare(self, batch: TransitionBatch) -> ReplayBatch:
        """Return a batch as losses read it."""
        observation, following = batch.observation, batch.next_observation
        mask = next_mask = None
        if self.policy.has_masks:
            is_dict = isinstance(self.train_env.single_observation_space, gym.spaces.Dict)
            observation, mask = split_mask(observation, is_dict=is_dict)
            following, next_mask = split_mask(following, is_dict=is_dict)
            mask, next_mask = mask.to(self.compute_device), next_mask.to(self.compute_device)
        return ReplayBatch(
            self.policy.normalize(_to(observation, self.compute_device)),
            batch.action.to(self.compute_device),
            batch.reward.to(self.compute_device),
            batch.discount.to(self.compute_device),
            self.policy.normalize(_to(following, self.compute_device)),
            next_mask,
            mask,
            None if batch.weight is None else batch.weight.to(self.compute_device),
        )

    def step_optimizer(self, name: str, loss: Tensor) -> Tensor:
        """Take one step of an optimiser against a scalar loss; returns the gradient's norm, ()."""
        optimizer = self.optimizers[name]
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        self.join_gradients(parameters)
        limit = self.hyperparameters.get("max_grad_norm")
        return clip_and_step(optimizer, parameters, max_grad_norm=limit).norm()

    def new_optimizer(self, parameters: Any, *, lr: float | None = None) -> torch.optim.Optimizer:
        """Build the configured optimiser for some parameters; `policy_lr` if no rate is given."""
        return build_optimizer(
            self.config.optimizer,
            parameters,
            lr=self.hyperparameters["policy_lr"] if lr is None else lr,
            kwargs=self.config.optimizer_kwargs,
        )

    def value_now(self, name: str, timesteps: int) -> float:
        """Return the value of a scheduled setting in the middle of an epoch."""
        schedule = getattr(self.config, name)
        limit = self.config.max_timesteps
        return schedule_value(schedule, timesteps=timesteps, max_timesteps=limit)

    def _record(self, summary: Any, *, collected: float, learnt: float) -> None:
        record_episodes(self.recorder, summary)
        self.recorder.record("train/time/rollout_seconds", collected)
        self.recorder.record("train/time/update_seconds", learnt)
        n_stored = len(self.source.buffer)
        if self.shared is not None:
            n_stored = self.shared.sum(n_stored)
        self.recorder.record("train/replay/n_transitions", float(n_stored))
        scheduler = self.source.plan.scheduler
        self.recorder.record("train/replay/phase", float(scheduler.index))
        if len(scheduler.phases) > 1:
            self.recorder.record(PHASES_DONE_KEY, self.phases_done)
        means, diverged = self.log.flush(None if self.shared is None else self.shared.mean)
        if diverged is not None:
            key, value, update = diverged
            self.stop_diverged(key, value, where=f"update {update + 1} of the epoch, ")
        self.recorder.record_many(means)

    # -- several processes ------------------------------------------------------------------------

    @override
    def join_team(self, team: Team) -> None:
        assert self.share is not None
        assert self.conductor is not None
        self.source.collector.join(team, self.share)
        self.conductor.answer(_BUFFER, lambda path: self.source.save_buffer(self._own_file(path)))
        if self.source.buffer.priorities is not None:
            self.source.buffer.priorities.max_of_all = lambda w: team.gather_stack(w).max()

    def join_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Average the gradients of all processes' parts of a batch; comes before they are used."""
        if self.shared is not None:
            self.shared.average_gradients(parameters)

    def rows_of_all(self, values: Tensor) -> Tensor:
        """Return the values of all parts of a batch, (W, ...), or those of the one there is."""
        return values if self.shared is None else self.shared.team.gather_stack(values)

    def shared_path(self) -> str | None:
        """Say that several processes make an update together; None for one alone."""
        return None if self.shared is None else f"each of {self.part.size} processes has a part"

    def describe_parts(self) -> list[str]:
        """Say what each of several processes has; nothing of one alone."""
        if self.share is None:
            return []
        share, n_rows = self.share, self.source.plan.pace.batch_size
        return [
            f"{self.part.size} processes: each has {share.n} of {share.total} environments, the "
            f"buffer of what they did, and {n_rows} of the {self.part.whole(n_rows)} rows of every "
            "batch"
        ]

    # -- what it says, and its saved state ------------------------------------------------------

    @property
    @override
    def end_reason(self) -> str | None:
        return self.source.plan.end_reason

    @override
    def describe_learning(self) -> list[str]:
        config, buffer = self.config, self.source.buffer
        ratio = config.exact_replay_ratio
        lines = [
            f"replay: {self.part.whole(buffer.capacity):,} transitions "
            f"({self.part.whole(buffer.nbytes_declared) / 2**20:,.1f} MiB), "
            f"{ratio} updates of {config.batch_size} for each timestep, from timestep "
            f"{config.timesteps_before_updates:,} on"
        ]
        lines += self.describe_parts()
        if not config.save_replay:
            lines.append(
                "the buffer is not saved: a resumed run fills an empty one for "
                f"{config.timesteps_before_updates:,} timesteps before it learns on"
            )
        if config.timesteps_before_updates >= config.max_timesteps:
            lines.append(
                f"note: nothing is learnt, for the run ends at timestep {config.max_timesteps:,}"
            )
        period, epoch = config.eval_freq_timesteps, config.steps_per_epoch * config.n_envs
        if period is not None and period < epoch:
            lines.append(
                f"note: evaluations come between epochs of {epoch:,} timesteps, which is less "
                f"often than every {period:,}: a lower steps_per_epoch makes room for them"
            )
        return lines

    @override
    def learner_state(self) -> dict[str, Any]:
        of_all = {} if self.shared is None else {"shared": self.shared.state_dict()}
        return {
            **of_all,
            "networks": {name: module.state_dict() for name, module in self.networks.items()},
            "optimizers": {name: part.state_dict() for name, part in self.optimizers.items()},
        }

    @override
    def load_learner_state(self, state: dict[str, Any]) -> None:
        for name, module in self.networks.items():
            module.load_state_dict(state["networks"][name])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])
            lay_like_parameters(optimizer)
        if self.shared is not None:
            self.shared.load_state_dict(state["shared"])

    @override
    def take_over_policy(self, state: Mapping[str, Any]) -> None:
        # A policy that knows its way beside critics that know nothing would soon have lost it.
        for name, module in self.networks.items():
            saved = state.get("networks", {}).get(name, {})
            if _shapes(saved) == _shapes(module.state_dict()):
                module.load_state_dict(saved)

    @override
    def save_companions(self, checkpoint: Path) -> None:
        if not self.config.save_replay:
            return
        if self.conductor is None:
            self.source.save_buffer(self._own_file(checkpoint))
        else:
            self.conductor.ask(_BUFFER, checkpoint)

    @override
    def load_companions(self, checkpoint: Path) -> str | None:
        path = self._own_file(follow(checkpoint))
        is_there = path.exists()
        if self.shared is not None:  # all go on with what they had, or none
            is_there = not self.shared.team.any(not is_there)
        if is_there:
            try:
                self.source.load_buffer(path)
            except CheckpointError as error:
                way_out = "without this file the run fills an empty buffer before it learns on"
                raise CheckpointError(f"{error}; {way_out}") from error
            return None
        return (
            f"no replay buffer is saved beside {path.with_suffix('.ckpt').name}: an empty one is "
            f"filled for {self.config.timesteps_before_updates:,} timesteps before learning goes on"
        )

    def _own_file(self, checkpoint: Path) -> Path:
        """Return where this process's buffer lies beside a checkpoint."""
        return checkpoint.with_suffix(f"{REPLAY_SUFFIX}{self.part.rank or ''}")


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _to(observation: Any, device: torch.device) -> Any:
    if isinstance(observation, dict):
        return {key: part.to(device) for key, part in observation.items()}
    return observation.to(device)
