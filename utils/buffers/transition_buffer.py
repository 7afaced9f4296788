"""The latest transitions of a vector environment, to be learned from again and again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.buffers.array_file import load_arrays, save_arrays
from utils.buffers.flags import to_mask
from utils.buffers.frame_store import FrameStore
from utils.buffers.observation_leaves import assemble, part_of
from utils.buffers.place import Place
from utils.buffers.priorities import PriorityIndex
from utils.buffers.row_writes import RowWriter
from utils.buffers.transition_batch import TransitionBatch
from utils.buffers.transition_compiled import CompiledGather
from utils.buffers.transition_gather import Geometry, gather_on_device, name_on_device
from utils.buffers.transition_kernels import name_places
from utils.buffers.transition_layout import TransitionLayout

ObservationLike = Any
"""An array or tensor (N, ...), or a dict of them."""


class TransitionBuffer:
    """A ring of T vector steps of N environments, `(T, N, ...)`, written in place.

    Each observation is stored once: what a step led to is the observation of the next row, or,
    where an episode ended, a final observation that is kept apart. Of stacked frames the newest is
    stored, and stacks are put together when they are sampled.

    `begin` comes first, then `add` once for each vector step::

        buffer.begin(observation)
        buffer.add(action=..., reward=..., terminated=..., truncated=...,
                   next_observation=..., final_observation=infos.get("final_obs"))
        batch = buffer.sample(256, generator=generator)

    Everything that is given is copied. Sampling is with replacement, uniform over all transitions
    that are held, and draws from nothing but the given generator; who owns that one saves it.

    Attributes:
        geometry: What draws and gathers on a device read there.
    """

    def __init__(
        self,
        layout: TransitionLayout,
        *,
        n_step: int = 1,
        gamma: float = 0.99,
        place: Place | None = None,
    ) -> None:
        """Check that there is room, then allocate.

        Args:
            layout: What is held.
            n_step: Steps of the returns that batches hold (n).
            gamma: Discount of one step, in [0, 1].
            place: Where the arrays lie; ordinary memory by default.

        Raises:
            ConfigError: The declared size exceeds the room that is left.
        """
        self.layout, self.place = layout, place or Place()
        self.place.check_room(layout.n_bytes, what=f"a buffer of {layout.capacity:,} transitions")
        n_envs, self._n_rows, self._n_steps = layout.n_envs, layout.n_rows, layout.n_kept
        self._n_final_slots = layout.n_final_slots
        allocate = self.place.allocate
        lead = (layout.n_rows, n_envs)
        self.frames = {
            leaf.key: FrameStore(
                leaf, n_rows=layout.n_rows, n_envs=n_envs, n_finals=self._n_final_slots,
                place=self.place,
            )
            for leaf in layout.leaves
        }  # fmt: skip
        self.action = allocate((*lead, *layout.action_shape), layout.action_dtype)
        self.reward = allocate(lead, torch.float32)
        self.ending = allocate(lead, torch.int32)
        """0 where the episode went on; else its final observation's place, counted from 1, negative
        where the episode was truncated."""
        self._action_writer, self._reward_writer = (
            RowWriter(self.action, self.place),
            RowWriter(self.reward, self.place),
        )
        self._ending_writer = RowWriter(self.ending, self.place)
        self._has_waiting = False
        self._compiled = (
            CompiledGather(self.frames, action=self.action, reward=self.reward, ending=self.ending)
            if self.place.is_ordinary
            else None
        )
        self.priorities = (
            None
            if layout.priorities is None
            else PriorityIndex(layout.n_slots, settings=layout.priorities, place=self.place)
        )
        self._step_of_final = np.zeros(self._n_final_slots, np.int64)
        self._first = self._head = self._tail = layout.frame_stack - 1
        self._n_finals = 0
        self._n_step, self._gamma = n_step, gamma
        self.geometry = Geometry(
            first=self._head * n_envs, gamma=gamma, n_step=n_step, device=self.place.device
        )
        self._has_begun = False
        self._has_warned = False

    @property
    def nbytes_declared(self) -> int:
        """Bytes that the buffer takes once it is full."""
        return self.layout.n_bytes

    @property
    def n_step(self) -> int:
        """Steps of the returns that batches hold; may be changed at any time."""
        return self._n_step

    @n_step.setter
    def n_step(self, n_step: int) -> None:
        self._n_step = n_step
        self.geometry.set_discount(self._gamma, n_step)

    @property
    def gamma(self) -> float:
        """Discount of a step; may be changed at any time."""
        return self._gamma

    @gamma.setter
    def gamma(self, gamma: float) -> None:
        if gamma != self._gamma:
            self._gamma = gamma
            self.geometry.set_discount(gamma, self._n_step)

    @property
    def capacity(self) -> int:
        """Most transitions that are held."""
        return self.layout.n_kept * self.layout.n_envs

    def __len__(self) -> int:
        """Transitions that are held, of all environments."""
        return (self._head - self._tail) * self.layout.n_envs

    @property
    def n_added(self) -> int:
        """Transitions that were ever added."""
        return (self._head - self._first) * self.layout.n_envs

    def begin(self, observation: ObservationLike) -> None:
        """Take in what the environments show first, (N, ...); comes once, before `add`."""
        assert not self._has_begun, "begin() comes once; cut() says that episodes were abandoned"
        self._has_begun = True
        everyone = np.arange(self.layout.n_envs)
        for key, store in self.frames.items():
            store.write_stack(self._head, part_of(observation, key), everyone)

    def add(
        self,
        *,
        action: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        next_observation: ObservationLike,
        final_observation: ObservationLike | None = None,
    ) -> None:
        """Take in one vector step of N environments with SAME_STEP autoreset.

        Args:
            action: (N, ...)
            reward: (N,)
            terminated: (N,) bool
            truncated: (N,) bool; no environment is both.
            next_observation: (N, ...) what the environments show now, after resets where any were.
            final_observation: (N, ...) valid where an episode ended; None where none did.
        """
        assert self._has_begun, "begin() comes before add()"
        terminated, truncated = to_mask(terminated), to_mask(truncated)
        ending: np.ndarray | int = 0
        (ended,) = (terminated | truncated).nonzero()
        if len(ended):
            assert not (terminated & truncated).any(), (terminated, truncated)
            assert final_observation is not None, f"environments {ended} ended: where did they?"
            places = self._write_finals(self._head, ended, final_observation)
            ending = np.zeros(self.layout.n_envs, np.int32)
            ending[ended] = np.where(truncated[ended], -places, places)
        row = self._head % self._n_rows
        self._action_writer.write(row, action)
        self._reward_writer.write(row, reward)
        self._ending_writer.write(row, ending)
        if self.priorities is not None:
            self.priorities.admit(*self._row_slots(self._head))
        self._head += 1
        self._drop_before(self._head - self._n_steps)
        for key, store in self.frames.items():
            store.write_newest(self._head, part_of(next_observation, key))
        self._has_waiting = self._compiled is None

    def flush(self) -> None:
        """Hand on to the device what waits on the host; whoever reads there himself calls it.

        The methods of the buffer do so unasked, but for graphs that hold them.
        """
        if not self._has_waiting:
            return
        self._has_waiting = False
        for writer in (self._action_writer, self._reward_writer, self._ending_writer):
            writer.flush()
        for store in self.frames.values():
            store.flush()
        self._tell_device()

    def cut(self, observation: ObservationLike, environments: Any) -> None:
        """Take in that episodes were abandoned and others begun, outside of any step.

        What was last seen of them counts as the final observation of a truncated episode.

        Args:
            observation: (N, ...) what the environments show now.
            environments: (n,) int, which ones were cut.
        """
        self.flush()
        environments = np.asarray(environments, dtype=np.int64)
        row = (self._head - 1) % self._n_rows
        ending = self.ending[row].cpu().numpy()
        if self._head > self._first:
            running = environments[ending[environments] == 0]
            newest = {key: store.newest_rows(self._head) for key, store in self.frames.items()}
            if len(running):
                places = self._write_finals(
                    self._head - 1, running, assemble(newest), are_frames=True
                )
                self._ending_writer.write((row, running), -places)
            for key, store in self.frames.items():
                store.write_newest(self._head, part_of(observation, key), environments)
            # What was kept of the end may have taken the place of another's.
            self._has_waiting = self._compiled is None
            return
        for key, store in self.frames.items():
            store.write_stack(self._head, part_of(observation, key), environments)

    def _write_finals(
        self,
        step: int,
        environments: np.ndarray,
        observation: ObservationLike,
        *,
        are_frames: bool = False,
    ) -> np.ndarray:
        """Keep what a step led some environments to; return the places, counted from 1."""
        n_slots = self._n_final_slots
        slots = (self._n_finals + np.arange(len(environments))) % n_slots
        n_known = min(self._n_finals, n_slots)
        self._n_finals += len(environments)
        taken = slots[slots < n_known]
        if len(taken):
            self._drop_up_to(int(self._step_of_final[taken].max()), newest=step)
        self._step_of_final[slots] = step
        for key, store in self.frames.items():
            store.write_finals(
                slots, part_of(observation, key), environments, are_frames=are_frames
            )
        return slots + 1

    def _tell_device(self) -> None:
        """Write what is held where draws and gathers on a device read it."""
        if self._compiled is None:
            n_envs = self.layout.n_envs
            self.geometry.set_held(self._tail * n_envs, self._head * n_envs)

    def _drop_before(self, step: int) -> None:
        """Let nothing be drawn that lies before a step."""
        if self.priorities is not None:
            for dropped in range(self._tail, step):
                self.priorities.expel(*self._row_slots(dropped))
        self._tail = max(self._tail, step)

    def _row_slots(self, step: int) -> tuple[int, int]:
        """Return the first place of a step's row and the one after its last."""
        start = step % self._n_rows * self.layout.n_envs
        return start, start + self.layout.n_envs

    def _drop_up_to(self, step: int, *, newest: int) -> None:
        """Give up transitions whose final observations are about to be written over.

        Args:
            step: The newest of them.
            newest: Newest step of the buffer once what is being written is there.
        """
        if step < max(self._tail, newest + 1 - self.layout.n_kept):
            return
        self._drop_before(step + 1)
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"more than {self._n_final_slots:,} episodes ended within the buffer's "
                f"{self.capacity:,} transitions: the oldest go early; n_finals makes room for more",
                stacklevel=4,
            )

    def draw(self, batch_size: int, *, generator: torch.Generator) -> Tensor:
        """Draw names of transitions, (batch_size,) int64: uniformly, or by their priorities."""
        assert len(self) > 0, "the buffer is empty"
        self.flush()
        n_envs = self.layout.n_envs
        if self.priorities is not None:
            return self._name(self.priorities.draw(batch_size, generator=generator))
        return torch.randint(
            self._tail * n_envs,
            self._head * n_envs,
            (batch_size,),
            generator=generator,
            device=generator.device,
        )

    def _name(self, slots: Tensor) -> Tensor:
        """Return the names of the transitions in places (B,); those may be overwritten."""
        if self._compiled is None:
            return name_on_device(self, slots)
        name_places(slots.numpy(), self.layout.n_envs, self._n_rows, self._head)
        return slots

    def sample(
        self, batch_size: int, *, generator: torch.Generator, beta: float | Tensor | None = None
    ) -> TransitionBatch:
        """Draw a batch with replacement.

        On a device the prioritised draw reads everything that changes there, and so can be held by
        a CUDA graph, as can `update_priorities`.

        Args:
            batch_size: Transitions in the batch (B).
            generator: Source of the randomness, on the CPU or on the device of the buffer.
            beta: With priorities, how much of their bias the weights make up for, in [0, 1]; a
                tensor () where a graph shall read it.
        """
        assert (beta is None) == (self.priorities is None), (beta, self.layout.priorities)
        batch = self.gather(self.draw(batch_size, generator=generator))
        if self.priorities is None:
            return batch
        n_held = len(self) if self._compiled is not None else self.geometry.n_held
        return batch._replace(weight=self.priorities.weights(batch.index, n=n_held, beta=beta))

    def update_priorities(self, index: Tensor, errors: Tensor) -> None:
        """Take in how wrong the learner was; names of what is no longer held are passed over.

        Args:
            index: (B,) int64 names, of one or several batches.
            errors: (B,) temporal-difference errors, of any sign.
        """
        assert self.priorities is not None, "the layout has no priorities"
        self.flush()
        device, is_compiled = self.place.device, self._compiled is not None
        oldest = self._tail * self.layout.n_envs if is_compiled else self.geometry.oldest
        self.priorities.update(index.to(device), errors.to(device), oldest=oldest)

    def gather(self, index: Tensor) -> TransitionBatch:
        """Pick transitions by name.

        Args:
            index: (B,) int64 names from `draw`, of transitions that are still held.
        """
        self.flush()
        index = index.to(self.place.device).contiguous()
        if self._compiled is None:
            return gather_on_device(self, index)
        return self._compiled(index, tail=self._tail, head=self._head, powers=self.geometry.powers)

    @property
    def head(self) -> int:
        """Number of the vector step that comes next."""
        return self._head

    def save(self, path: Path) -> None:
        """Write all that is held into one file, at once and piece by piece; see `save_arrays`."""
        self.flush()
        save_arrays(path, self.layout.describe(), self._counters(), self._arrays())

    def load(self, path: Path) -> None:
        """Restore what `save` wrote.

        Raises:
            CheckpointError: The file is missing, damaged, or of another layout.
        """
        self.flush()
        load_arrays(path, self.layout.describe(), self._restore_counters, self._arrays)
        if self.priorities is not None:
            self.priorities.tree.refresh(0, self.layout.n_slots)
        self._has_begun = True

    def _counters(self) -> dict[str, Any]:
        counters = {"head": self._head, "tail": self._tail, "n_finals": self._n_finals}
        if self.priorities is not None:
            counters["highest_priority"] = float(self.priorities.highest)
        return counters

    def _restore_counters(self, counters: dict[str, Any]) -> None:
        self._head, self._tail = counters["head"], counters["tail"]
        self._tell_device()
        self._n_finals = counters["n_finals"]
        if self.priorities is not None:
            self.priorities.highest.fill_(counters["highest_priority"])

    def _arrays(self) -> dict[str, Tensor]:
        """Return views of what has been written, by name."""
        n_rows = min(self._head + 1, self._n_rows)
        n_finals = min(self._n_finals, self._n_final_slots)
        arrays = {
            "action": self.action[:n_rows],
            "reward": self.reward[:n_rows],
            "ending": self.ending[:n_rows],
            "step_of_final": torch.from_numpy(self._step_of_final)[:n_finals],
        }
        if self.priorities is not None:
            arrays["weight"] = self.priorities.tree.leaves[: n_rows * self.layout.n_envs]
        for key, store in self.frames.items():
            arrays[f"observation.{key}"] = store.ring[:n_rows]
            arrays[f"final.{key}"] = store.finals[:n_finals]
        return arrays
