"""The latest experience of a vector environment as sequences, for models of the world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.buffers.array_file import load_arrays, save_arrays
from utils.buffers.flags import to_mask
from utils.buffers.observation_leaves import assemble, part_of
from utils.buffers.place import Place
from utils.buffers.priorities import PriorityIndex
from utils.buffers.row_store import RowStore, keep_last
from utils.buffers.sequence_batch import SequenceBatch
from utils.buffers.sequence_kernels import FIRST, NEW_FRAMES, TERMINATED, TRUNCATED
from utils.buffers.sequence_layout import SequenceLayout
from utils.buffers.start_table import FreshStarts, StartTable

ObservationLike = Any
"""An array or tensor (N, ...), or a dict of them."""


class SequenceBuffer:
    """A ring of rows for each of N environments, `(N, T, ...)`, written in place.

    A row is one observation with what led to it and what was done there; see `SequenceBatch`. Final
    observations are rows of their own, so an episode of n steps has n + 1. The newest row of an
    environment is part of no sequence until something was done there.

    `begin` comes first, then `add` once for each vector step::

        buffer.begin(observation)
        buffer.add(action=..., reward=..., terminated=..., truncated=..., next_observation=...,
                   final_observation=infos.get("final_obs"), state={"deter": ..., "stoch": ...})
        batch = buffer.sample(16, generator=generator)
        buffer.write_state(batch.index[:, 1:], {"deter": ..., "stoch": ...})

    Everything that is given is copied. Where sequences may cross episodes, all stretches of L rows
    are equally likely, else all that lie within one episode. Sampling is with replacement and draws
    from nothing but the given generator; who owns that one saves it.
    """

    def __init__(
        self,
        layout: SequenceLayout,
        *,
        newest_first: bool = False,
        n_context: int = 0,
        place: Place | None = None,
    ) -> None:
        """Check that there is room, then allocate.

        Args:
            layout: What is held.
            newest_first: Serve each new stretch of experience once before others are drawn.
            n_context: Rows at the beginning of a sequence that only lead in: new stretches have
                that many rows in common. Without effect unless `newest_first`.
            place: Where the rows lie; ordinary memory by default.

        Raises:
            ConfigError: The declared size exceeds the room that is left.
        """
        self.layout, self.place = layout, place or Place()
        self.place.check_room(layout.n_bytes, what=f"a buffer of {layout.capacity:,} rows")

        self._leaves = layout.leaves

        def store(shape: tuple[int, ...], dtype: torch.dtype) -> RowStore:
            return RowStore(shape, dtype, n_slots=layout.n_slots, place=self.place)

        self.frames = {leaf.key: store(leaf.frame_shape, leaf.dtype) for leaf in self._leaves}
        self.action = store(layout.action_shape, layout.action_dtype)
        self.reward = store((), torch.float32)
        self.state = {key: store(f.shape, f.dtype) for key, f in sorted(layout.state.items())}
        self.table = StartTable(
            n_envs=layout.n_envs,
            n_rows=layout.n_rows,
            n_kept=layout.n_kept,
            first=layout.frame_stack - 1,
            length=layout.sequence_length,
            crosses=layout.crosses_episodes,
        )
        stride = layout.sequence_length - n_context
        self._fresh = FreshStarts(layout.n_envs, stride=stride) if newest_first else None
        # Which sequence comes next is decided in ordinary memory, wherever the rows are.
        self.priorities = (
            None
            if layout.priorities is None
            else PriorityIndex(layout.n_slots, settings=layout.priorities, place=Place())
        )
        self._everyone = np.arange(layout.n_envs)
        self._n_added = 0
        self._has_begun = False

    @property
    def nbytes_declared(self) -> int:
        """Bytes that the buffer takes once it is full."""
        return self.layout.n_bytes

    @property
    def capacity(self) -> int:
        """Most rows that sequences are made of."""
        return self.layout.n_kept * self.layout.n_envs

    def __len__(self) -> int:
        """Rows that are held and complete, of all environments."""
        return self.table.n_held

    @property
    def n_added(self) -> int:
        """Environment steps that were ever added."""
        return self._n_added

    @property
    def n_sequences(self) -> int:
        """Different sequences that can be drawn."""
        return self.table.n_starts

    def begin(self, observation: ObservationLike) -> None:
        """Take in what the environments show first, (N, ...); comes once, before `add`."""
        assert not self._has_begun, "begin() comes once; cut() says that episodes were abandoned"
        self._has_begun = True
        for leaf in self._leaves:
            for i in range(leaf.n_stacked):
                frames = leaf.frames_of(part_of(observation, leaf.key), -1 - i)
                self.frames[leaf.key].write(self.table.places(self._everyone, -i), frames)
        self.table.flags[self.table.places(self._everyone)] = FIRST

    def add(
        self,
        *,
        action: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        next_observation: ObservationLike,
        final_observation: ObservationLike | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        """Take in one vector step of N environments with SAME_STEP autoreset.

        Args:
            action: (N, ...)
            reward: (N,)
            terminated: (N,) bool
            truncated: (N,) bool; no environment is both.
            next_observation: (N, ...) what the environments show now, after resets where any were.
            final_observation: (N, ...) valid where an episode ended; None where none did.
            state: (N, ...) of each field, what the policy remembered when it chose the actions.
        """
        assert self._has_begun, "begin() comes before add()"
        terminated, truncated = to_mask(terminated), to_mask(truncated)
        assert not (terminated & truncated).any(), (terminated, truncated)
        assert (state or {}).keys() == self.state.keys(), (state, list(self.state))
        acted = self.table.places(self._everyone)
        self.action.write(acted, action)
        for key, store in self.state.items():
            store.write(acted, state[key])
        done = terminated | truncated
        ended = np.flatnonzero(done)
        reached = self.table.places(self._everyone, 1)
        self.reward.write(reached, reward)
        self.table.flags[reached] = TERMINATED * terminated + TRUNCATED * truncated
        if len(ended):
            assert final_observation is not None, f"environments {ended} ended: where did they?"
            self._write_ends(reached[ended], final_observation, ended)
        self._advance(self._everyone, 1 + done, done)
        self._write_newest(next_observation, self._everyone)
        self._n_added += self.layout.n_envs

    def cut(self, observation: ObservationLike, environments: Any) -> None:
        """Take in that episodes were abandoned and others begun, outside of any step.

        What was last seen of them is the end of a truncated episode.

        Args:
            observation: (N, ...) what the environments show now.
            environments: (n,) int, which ones were cut.
        """
        environments = np.asarray(environments, dtype=np.int64)
        newest = self.table.places(environments)
        is_running = self.table.flags[newest] & FIRST == 0
        running, places = environments[is_running], newest[is_running]
        if len(running):
            self.table.flags[places] |= TRUNCATED
            self._write_nothing(places)
            self._advance(running, np.ones(len(running), np.int64), np.ones(len(running), bool))
        self._begin_episodes(self.table.places(environments))
        self._write_newest(observation, environments)

    def _write_ends(
        self, places: np.ndarray, final_observation: ObservationLike, ended: np.ndarray
    ) -> None:
        """Write where episodes ended, and begin the next ones behind."""
        for leaf in self._leaves:
            frames = leaf.frames_of(part_of(final_observation, leaf.key), -1)
            self.frames[leaf.key].write(places, frames[ended])
        self._write_nothing(places)
        self._begin_episodes(self.table.places(ended, 2))

    def _write_nothing(self, places: np.ndarray) -> None:
        """Say that nothing was done or remembered in some rows."""
        for store in (self.action, *self.state.values()):
            store.write(places, torch.zeros((len(places), *store.shape), dtype=store.dtype))

    def _begin_episodes(self, places: np.ndarray) -> None:
        self.table.flags[places] = FIRST | NEW_FRAMES
        self.reward.write(places, np.zeros(len(places)))

    def _write_newest(self, observation: ObservationLike, environments: np.ndarray) -> None:
        places = self.table.places(environments)
        for leaf in self._leaves:
            frames = leaf.frames_of(part_of(observation, leaf.key), -1)
            if len(environments) < self.layout.n_envs:
                frames = frames[environments]
            self.frames[leaf.key].write(places, frames)

    def _advance(self, environments: np.ndarray, n_new: np.ndarray, ends: np.ndarray) -> None:
        changes = self.table.advance(environments, n_new, ends)
        if self.priorities is not None:
            self.priorities.admit_places(changes.added)
            self.priorities.expel_places(changes.removed)
        if self._fresh is not None:
            self._fresh.add(self.table.name(changes.added))

    def draw(self, batch_size: int, *, generator: torch.Generator) -> Tensor:
        """Draw names of first rows, (batch_size,) int64 on the CPU; fresh ones come first."""
        assert self.n_sequences > 0, f"no {self.layout.sequence_length} rows follow on each other"
        fresh = self._take_fresh(batch_size)
        n = batch_size - len(fresh)
        if self.priorities is None:
            places = self.table.draw(n, generator=generator)
        else:
            places = self.priorities.draw(n, generator=generator).numpy()
        return torch.from_numpy(np.concatenate([fresh, self.table.name(places)]))

    def _take_fresh(self, n: int) -> np.ndarray:
        if self._fresh is None:
            return np.empty(0, np.int64)
        names = self._fresh.take(n)
        return names[self.table.held(names) >= 0]

    def sample(
        self, batch_size: int, *, generator: torch.Generator, beta: float | None = None
    ) -> SequenceBatch:
        """Draw a batch with replacement.

        Args:
            batch_size: Sequences in the batch (B).
            generator: Source of the randomness.
            beta: With priorities, how much of their bias the weights make up for, in [0, 1].
        """
        assert (beta is None) == (self.priorities is None), (beta, self.layout.priorities)
        names = self.draw(batch_size, generator=generator)
        batch = self.gather(names)
        if self.priorities is None:
            return batch
        places = torch.from_numpy(self.table.held(names.numpy()))
        weight = self.priorities.weights(places, n=self.n_sequences, beta=beta)
        return batch._replace(weight=weight.to(self.place.device))

    def gather(self, names: Tensor, *, has_observation: bool = True) -> SequenceBatch:
        """Pick sequences by name.

        Args:
            names: (B,) int64 of first rows, from `draw`, of sequences that are still held.
            has_observation: Pick the observations too; without them the batch's are {}.
        """
        n_rows = self.layout.n_rows
        places, index = self.table.windows(names.cpu().numpy())
        flags = torch.from_numpy(self.table.flags[places]).to(self.place.device)
        parts = {
            leaf.key: self._gather_stacks(leaf.key, places, leaf.n_stacked, leaf.shape)
            if leaf.n_stacked > 1
            else self.frames[leaf.key].gather_windows(places, n_rows)
            for leaf in (self._leaves if has_observation else ())
        }
        return SequenceBatch(
            observation=assemble(parts) if has_observation else {},
            action=self.action.gather_windows(places, n_rows),
            reward=self.reward.gather_windows(places, n_rows),
            is_first=(flags & FIRST).bool(),
            terminated=(flags & TERMINATED).bool(),
            truncated=(flags & TRUNCATED).bool(),
            state={k: store.gather_windows(places, n_rows) for k, store in self.state.items()},
            index=torch.from_numpy(index),
        )

    def draw_rows(self, n: int, *, generator: torch.Generator) -> Tensor:
        """Draw names of complete rows with replacement, all equally likely; (n,) int64."""
        assert len(self) > 0, "no row is complete"
        chosen = torch.randint(len(self), (n,), generator=generator, device=generator.device)
        return torch.from_numpy(self.table.nth_rows(chosen.cpu().numpy()))

    def all_rows(self) -> Tensor:
        """Return the names of all complete rows, (len(self),) int64, one environment's together."""
        return torch.from_numpy(self.table.nth_rows(np.arange(len(self))))

    def gather_observations(self, names: Tensor) -> ObservationLike:
        """Pick the observations of single rows.

        Args:
            names: (B,) int64 of rows that are still held.

        Returns:
            (B, ...)
        """
        places = self.table.held(names.cpu().numpy())
        parts = {
            leaf.key: self._gather_stacks(leaf.key, places, leaf.n_stacked, leaf.shape)
            if leaf.n_stacked > 1
            else self.frames[leaf.key].gather(places)
            for leaf in self._leaves
        }
        return assemble(parts)

    def gather_state(self, names: Tensor) -> dict[str, Tensor]:
        """Pick what a model remembered at single rows (B,) that are still held, (B, ...) each."""
        places = self.table.held(names.cpu().numpy())
        return {key: store.gather(places) for key, store in self.state.items()}

    def first_rows(self) -> Tensor:
        """Return the names of all complete rows at which an episode began, (n,) int64."""
        names = self.all_rows()
        flags = self.table.flags[self.table.held(names.numpy())]
        return names[torch.from_numpy((flags & FIRST).astype(bool))]

    @property
    def nowhere(self) -> int:
        """The place of what belongs nowhere any more."""
        return self.layout.n_slots

    def locate(self, names: Tensor, *, n_context: int) -> np.ndarray:
        """Find sequences by name, for `gather_located` and `write_located`.

        Args:
            names: (B,) int64 of first rows, from `draw`.
            n_context: Rows at the beginning of each sequence that are only read.

        Returns:
            (3, B, L) int64: where the rows lie, where to write what is remembered of them (of two
            equal places only the last), and their flags.
        """
        assert self.layout.frame_stack == 1, "frames of a stack are found row by row"
        places, _ = self.table.windows(names.cpu().numpy())
        written = np.full_like(places, self.nowhere)
        renewed = places[:, n_context:]
        written[:, n_context:] = keep_last(renewed.reshape(-1), self.nowhere).reshape(renewed.shape)
        return np.stack([places, written, self.table.flags[places].astype(np.int64)])

    def gather_located(self, located: Tensor) -> SequenceBatch:
        """Pick sequences with nothing but operations of the device; see `locate`.

        The batch's `index` holds places, not names.

        Args:
            located: (3, B, L) int64 on the device of the rows.
        """
        places, _, flags = located
        parts = {key: store.flat[places] for key, store in self.frames.items()}
        return SequenceBatch(
            observation=assemble(parts),
            action=self.action.flat[places],
            reward=self.reward.flat[places],
            is_first=(flags & FIRST).bool(),
            terminated=(flags & TERMINATED).bool(),
            truncated=(flags & TRUNCATED).bool(),
            state={key: store.flat[places] for key, store in self.state.items()},
            index=places,
        )

    def write_located(self, places: Tensor, state: Mapping[str, Tensor]) -> None:
        """Replace what a model remembered with nothing but operations of the device.

        Args:
            places: (B, L) int64 of `locate`, no place twice but `nowhere`.
            state: (B, L, ...) of each field.
        """
        for key, store in self.state.items():
            rows = state[key].detach().reshape(-1, *store.shape).to(store.dtype)
            store.flat.index_copy_(0, places.reshape(-1), rows)

    def _gather_stacks(
        self, key: str, places: np.ndarray, n_stacked: int, shape: tuple[int, ...]
    ) -> Tensor:
        frames = self.frames[key].gather(self.table.frames(places, n_stacked))
        return frames.view(*places.shape, *shape)

    def write_state(self, index: Tensor, state: Mapping[str, Tensor]) -> None:
        """Replace what a model remembered at some rows; those no longer held are passed over.

        Args:
            index: Names of rows, int64 of any shape, such as (B, L).
            state: Of each field (*index.shape, ...). Where a row is named twice the later stays.
        """
        assert state.keys() == self.state.keys(), (list(state), list(self.state))
        places = self.table.held(index.reshape(-1).cpu().numpy())
        for key, store in self.state.items():
            store.write(places, state[key].detach().reshape(-1, *store.shape))

    def update_priorities(self, names: Tensor, errors: Tensor) -> None:
        """Take in how wrong the learner was; names of what is no longer held are passed over.

        Args:
            names: (B,) int64, first rows of sequences.
            errors: (B,) of any sign.
        """
        assert self.priorities is not None, "the layout has no priorities"
        places = torch.from_numpy(self.table.held(names.cpu().numpy()))
        self.priorities.update(places, errors.cpu())

    def save(self, path: Path) -> None:
        """Write all that is held into one file, at once and piece by piece; see `save_arrays`."""
        save_arrays(path, self.layout.describe(), self._counters(), self._arrays())

    def load(self, path: Path) -> None:
        """Restore what `save` wrote.

        Raises:
            CheckpointError: The file is missing, damaged, or of another layout.
        """
        load_arrays(path, self.layout.describe(), self._restore_counters, self._arrays)
        self.table.find_positions()
        if self.priorities is not None:
            self.priorities.tree.refresh(0, self.layout.n_slots)
        self._has_begun = True

    def _counters(self) -> dict[str, Any]:
        counters = {"table": self.table.counters(), "n_added": self._n_added}
        if self._fresh is not None:
            counters["fresh"] = self._fresh.state_dict()
        if self.priorities is not None:
            counters["highest_priority"] = float(self.priorities.highest)
        return counters

    def _restore_counters(self, counters: dict[str, Any]) -> None:
        self.table.restore_counters(counters["table"])
        self._n_added = counters["n_added"]
        if self._fresh is not None:
            self._fresh.load_state_dict(counters["fresh"])
        if self.priorities is not None:
            self.priorities.highest.fill_(counters["highest_priority"])

    def _arrays(self) -> dict[str, Tensor]:
        """Return views of what has been written, by name."""
        n_envs = self.layout.n_envs
        n_rows = min(int(self.table.head.max()) + 1, self.layout.n_rows)
        stores = {"action": self.action, "reward": self.reward}
        stores |= {f"observation.{key}": store for key, store in self.frames.items()}
        stores |= {f"state.{key}": store for key, store in self.state.items()}
        arrays = {name: store.rings(n_envs, n_rows) for name, store in stores.items()}
        if self.priorities is not None:
            arrays["weight"] = self.priorities.tree.leaves[: self.layout.n_slots]
        return arrays | self.table.arrays(n_rows)
