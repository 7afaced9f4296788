"""The data source of agents that do one thing after another: collect, learn a model, search."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from utils.buffers import SequenceBuffer
from utils.errors import CheckpointError
from utils.phases import COLLECT, PhaseScheduler
from utils.rollouts import RolloutSummary
from utils.rollouts.experience_collector import ExperienceCollector, Step


@dataclass(frozen=True, slots=True)
class StretchBatch:
    """The work of one epoch: the names of what each update reads, and the hooks that it is for."""

    hooks: tuple[str, ...]
    index_table: Tensor
    """(n_updates, batch_size) int64, names of the buffer; empty for work without stored data."""
    pick: Callable[[Tensor], Any]
    """Names (B,) -> what an update reads."""

    def to(self, device: torch.device) -> StretchBatch:
        """Return itself: names are for the buffer, and what they pick is moved by who learns."""
        del device
        return self

    @property
    def n_updates(self) -> int:
        """Updates of the epoch."""
        return len(self.index_table)

    def minibatches(self) -> Iterator[Any]:
        """Yield what one update after another reads."""
        for names in self.index_table:
            yield self.pick(names)


class _Picks(Dataset[StretchBatch]):
    def __init__(self, source: StretchSource) -> None:
        self._source = source

    def __getitem__(self, index_table: Tensor) -> StretchBatch:
        return self._source.batch_of(index_table)


class _Draws(Sampler[Tensor]):
    """Draws the one table of an epoch when the epoch asks for it."""

    def __init__(self, source: StretchSource) -> None:
        self._source = source

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Tensor]:
        yield self._source.draw_table()


class StretchSource:
    """Collector, buffer and phases together; a batch is the index table of a whole epoch.

    A phase without stored data (collecting, searching) has an empty table. Environments are begun
    anew where a phase of collecting begins, so they are saved in such a phase only.
    """

    def __init__(
        self,
        collector: ExperienceCollector,
        buffer: SequenceBuffer,
        scheduler: PhaseScheduler,
        *,
        row_hooks: dict[str, int],
        sequence_hooks: dict[str, int],
        updates_per_epoch: int,
        seed: int,
        reward_scale: float = 1.0,
    ) -> None:
        """Bind the parts.

        Args:
            collector: Steps the environments.
            buffer: Is filled and drawn from.
            scheduler: Of the phases.
            row_hooks: Hook -> batch size, of those that read observations of single rows.
            sequence_hooks: Hook -> batch size, of those that read sequences without observations.
            updates_per_epoch: Of such hooks.
            seed: Of what is drawn from the buffer.
            reward_scale: What rewards are multiplied by as they are stored.
        """
        self.collector, self.buffer, self.scheduler = collector, buffer, scheduler
        self._row_hooks, self._sequence_hooks = row_hooks, sequence_hooks
        self._updates_per_epoch, self._reward_scale = updates_per_epoch, reward_scale
        self.generator = torch.Generator()
        self.generator.manual_seed(seed)
        self.has_started = False
        self._is_filled = False
        self._nothing = {
            key: torch.zeros((buffer.layout.n_envs, *field.shape), dtype=field.dtype)
            for key, field in buffer.layout.state.items()
        }
        # The loader draws a seed for workers that it does not have; a generator of its own keeps
        # that out of the global stream.
        self.loader: DataLoader[StretchBatch] = DataLoader(
            _Picks(self),
            sampler=_Draws(self),
            batch_size=None,
            generator=torch.Generator(),
        )

    # -- one epoch ------------------------------------------------------------------------------

    @property
    def hooks(self) -> tuple[str, ...]:
        """What the present phase does."""
        return self.scheduler.current.hooks

    def draw_table(self) -> Tensor:
        """Draw the table of an epoch of the present phase, (n_updates, B) int64."""
        hook = self.hooks[-1]
        size = self._row_hooks.get(hook) or self._sequence_hooks.get(hook)
        if size is None:
            return torch.empty((0, 0), dtype=torch.int64)
        n = self.amount("updates", self._updates_per_epoch)
        draw = self.buffer.draw_rows if hook in self._row_hooks else self.buffer.draw
        return draw(n * size, generator=self.generator).view(n, size)

    def amount(self, unit: str, per_epoch: int) -> int:
        """Return how much of a unit the next epoch has: less at the end of a phase."""
        remaining = self.scheduler.remaining(unit)
        return per_epoch if remaining is None else min(per_epoch, remaining)

    def batch_of(self, index_table: Tensor) -> StretchBatch:
        """Return the batch of a table."""
        hooks = self.hooks
        if hooks[-1] in self._row_hooks:
            return StretchBatch(hooks, index_table, self.buffer.gather_observations)
        return StretchBatch(
            hooks, index_table, lambda names: self.buffer.gather(names, has_observation=False)
        )

    def begin_collecting(self, *, seed: int) -> None:
        """Begin new episodes everywhere; the first act of a phase that collects."""
        self.collector.reset(seed=seed)
        shown = self.collector.stepper.observation_array
        if self._is_filled:
            self.buffer.cut(shown, range(self.buffer.layout.n_envs))
        else:
            self.buffer.begin(shown)
        self._is_filled = True

    def collect(self, n_vec_steps: int, *, is_random: bool) -> RolloutSummary:
        """Make some vector steps and store them."""
        self.collector.collect(n_vec_steps, is_random=is_random, write=self._write)
        return self.collector.summarize()

    def _write(self, step: Step) -> None:
        scale = self._reward_scale
        self.buffer.add(
            action=step.stored_action,
            reward=step.reward if scale == 1.0 else step.reward * scale,
            terminated=step.terminated,
            truncated=step.truncated,
            next_observation=step.next_observation,
            final_observation=step.final_observation,
            state=self._nothing,
        )

    # -- life and saved state -------------------------------------------------------------------

    def reset(self, *, seed: int) -> None:
        """Note that a run begins; environments are begun by the phases that step them."""
        del seed
        self.has_started = True

    @property
    def _is_collecting(self) -> bool:
        """Whether the present phase has begun to collect."""
        is_there = self.hooks == (COLLECT,) and not self.scheduler.is_complete
        return is_there and self.scheduler.done("cycles") > 0

    def save_buffer(self, path: Path, *, unchanged: Path | None) -> None:
        """Write the buffer into a file, or another name for `unchanged`, which is the same."""
        if unchanged is None:
            self.buffer.save(path)
            return
        path.unlink(missing_ok=True)
        try:
            path.hardlink_to(unchanged)
        except OSError:  # a file system without second names
            shutil.copyfile(unchanged, path)

    def load_buffer(self, path: Path) -> None:
        """Restore the buffer; comes before `load_state_dict`.

        Raises:
            CheckpointError: The file is missing, damaged, or of another layout.
        """
        self.buffer.load(path)
        self._is_filled = True

    def state_dict(self) -> dict[str, Any]:
        """Return all but the buffer: phases, generator, and environments while they are needed."""
        return {
            "phases": self.scheduler.state_dict(),
            "generator": self.generator.get_state(),
            "n_added": self.buffer.n_added,
            "explorer": self.collector.explorer.state_dict(),
            "n_vec_steps": self.collector.stepper.n_vec_steps,
            "collector": self.collector.state_dict() if self._is_collecting else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; returns how many environments could not be.

        Raises:
            CheckpointError: The buffer that was loaded is of another moment.
        """
        self.scheduler.load_state_dict(state["phases"])
        self.generator.set_state(state["generator"])
        if self.buffer.n_added != state["n_added"]:
            raise CheckpointError(
                f"the saved buffer has seen {self.buffer.n_added:,} steps and the checkpoint "
                f"{state['n_added']:,}: they are not of one moment"
            )
        self.has_started = True
        self.collector.explorer.load_state_dict(state["explorer"])
        self.collector.stepper.n_vec_steps = state["n_vec_steps"]
        if state["collector"] is None:
            return 0
        lost = self.collector.load_state_dict(state["collector"])
        if len(lost):
            self.buffer.cut(self.collector.stepper.observation_array, lost)
        return len(lost)
