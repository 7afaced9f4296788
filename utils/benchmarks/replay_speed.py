"""Batches and vector steps per second of replay buffers, and the memory that they take."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch

from utils.benchmarks.contest import Contestant
from utils.buffers import (
    Place,
    Priorities,
    SequenceBuffer,
    SequenceLayout,
    TransitionBuffer,
    TransitionLayout,
)

PEER = "Stable-Baselines3"
PLAIN = "the same arrays, indexed by torch"
HALF_CHEETAH = gym.spaces.Box(-np.inf, np.inf, (17,), np.float32)
SIX_JOINTS = gym.spaces.Box(-1, 1, (6,), np.float32)
FOUR_FRAMES = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
BUTTONS = gym.spaces.Discrete(6)
_EPISODE_STEPS = 1000
_PART = 50
"""Batches or vector steps of one measured part of the work."""
_BETA = 0.4


class _Steps(NamedTuple):
    """Arbitrary results of a vector step, the same ones over and over."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    nobody: np.ndarray
    everybody: np.ndarray

    @classmethod
    def of(cls, observation: gym.spaces.Box, action: gym.Space, n_envs: int) -> _Steps:
        rng = np.random.default_rng(0)
        shape = (n_envs, *observation.shape)
        shown = (
            rng.integers(0, 256, shape, np.uint8)
            if observation.dtype == np.uint8
            else rng.normal(size=shape).astype(np.float32)
        )
        actions = np.stack([action.sample() for _ in range(n_envs)])
        nobody = np.zeros(n_envs, bool)
        return cls(shown, actions, rng.normal(size=n_envs), nobody, ~nobody)


class _Writer:
    """Adds vector steps; all episodes are cut off after a thousand."""

    def __init__(self, buffer: TransitionBuffer | SequenceBuffer) -> None:
        layout = buffer.layout
        self._buffer = buffer
        self._steps = _Steps.of(layout.observation_space, layout.action_space, layout.n_envs)
        self._n = 0
        buffer.begin(self._steps.observation)

    def add(self, n: int) -> int:
        steps = self._steps
        for _ in range(n):
            self._n += 1
            is_over = self._n % _EPISODE_STEPS == 0
            self._buffer.add(
                action=steps.action,
                reward=steps.reward,
                terminated=steps.nobody,
                truncated=steps.everybody if is_over else steps.nobody,
                next_observation=steps.observation,
                final_observation=steps.observation if is_over else None,
            )
        return n


class _PeerWriter:
    """The same for Stable-Baselines3's buffer."""

    def __init__(
        self, *, capacity: int, n_envs: int, observation: gym.spaces.Box, action: gym.Space
    ) -> None:
        from stable_baselines3.common.buffers import ReplayBuffer

        self.buffer = ReplayBuffer(capacity, observation, action, device="cpu", n_envs=n_envs)
        self._steps = _Steps.of(observation, action, n_envs)
        self._infos: list[dict[str, Any]] = [{} for _ in range(n_envs)]

    def add(self, n: int) -> int:
        steps = self._steps
        for _ in range(n):
            self.buffer.add(
                steps.observation,
                steps.observation,
                steps.action,
                steps.reward,
                steps.nobody,
                self._infos,
            )
        return n


def half_cheetah_layout(capacity: int, n_envs: int, **settings: Any) -> TransitionLayout:
    """Return the layout of HalfCheetah's transitions."""
    return TransitionLayout(
        capacity=capacity,
        n_envs=n_envs,
        observation_space=HALF_CHEETAH,
        action_space=SIX_JOINTS,
        **settings,
    )


def build_samplers(*, capacity: int, batch_size: int, folder: Path) -> list[Contestant]:
    """Build full buffers of HalfCheetah's transitions; their unit is one batch.

    Args:
        capacity: Transitions.
        batch_size: Transitions in a batch.
        folder: Where a buffer on a disk lies.
    """
    n_envs = 8

    def full(layout: TransitionLayout, **settings: Any) -> TransitionBuffer:
        buffer = TransitionBuffer(layout, **settings)
        _Writer(buffer).add(layout.n_kept)
        return buffer

    uniform = full(half_cheetah_layout(capacity, n_envs))
    three_steps = full(half_cheetah_layout(capacity, n_envs), n_step=3)
    on_disk = full(half_cheetah_layout(capacity, n_envs), place=Place(folder=folder))
    prioritized = full(half_cheetah_layout(capacity, n_envs, priorities=Priorities()))
    peer = _PeerWriter(
        capacity=capacity, n_envs=n_envs, observation=HALF_CHEETAH, action=SIX_JOINTS
    )
    peer.add(-(-capacity // n_envs))
    return [
        Contestant("ours", _sample(uniform, batch_size)),
        Contestant("ours, returns of 3 steps", _sample(three_steps, batch_size)),
        Contestant("ours, mapped from a disk", _sample(on_disk, batch_size)),
        Contestant("ours, prioritised, with updates", _sample(prioritized, batch_size)),
        Contestant(PEER, _repeat(lambda: peer.buffer.sample(batch_size))),
    ]


def build_picture_samplers(*, capacity: int, batch_size: int) -> list[Contestant]:
    """Build full buffers of stacks of four pictures of 84 x 84; their unit is one batch."""
    layout = TransitionLayout(
        capacity=capacity,
        n_envs=8,
        observation_space=FOUR_FRAMES,
        action_space=BUTTONS,
        frame_stack=4,
    )
    buffer = TransitionBuffer(layout)
    _Writer(buffer).add(layout.n_kept)
    peer = _PeerWriter(capacity=capacity, n_envs=8, observation=FOUR_FRAMES, action=BUTTONS)
    peer.add(layout.n_kept)
    return [
        Contestant("ours, frames stored once", _sample(buffer, batch_size)),
        Contestant(PEER, _repeat(lambda: peer.buffer.sample(batch_size))),
    ]


def build_sequence_samplers(*, capacity: int, batch_size: int, length: int) -> list[Contestant]:
    """Build full buffers of HalfCheetah's sequences; their unit is one batch."""
    layout = SequenceLayout(
        capacity=capacity,
        n_envs=8,
        observation_space=HALF_CHEETAH,
        action_space=SIX_JOINTS,
        sequence_length=length,
        crosses_episodes=True,
    )
    buffer = SequenceBuffer(layout)
    _Writer(buffer).add(layout.n_kept)
    generator = torch.Generator().manual_seed(0)
    arrays = [buffer.frames[""].flat, buffer.action.flat, buffer.reward.flat]
    arrays += [torch.zeros(layout.n_slots, dtype=torch.bool) for _ in range(3)]

    def index_plainly() -> None:
        last = layout.n_slots - length
        starts = torch.randint(last, (batch_size, 1), generator=generator)
        index = starts + torch.arange(length)
        for array in arrays:
            array[index]

    return [
        Contestant("ours", _repeat(lambda: buffer.sample(batch_size, generator=generator))),
        Contestant(PLAIN, _repeat(index_plainly)),
    ]


def build_writers(*, capacity: int, n_envs: int) -> list[Contestant]:
    """Build full buffers of HalfCheetah's shapes; their unit is one step of N environments."""
    sequences = SequenceLayout(
        capacity=capacity,
        n_envs=n_envs,
        observation_space=HALF_CHEETAH,
        action_space=SIX_JOINTS,
        sequence_length=16,
        crosses_episodes=True,
    )
    priorities = Priorities()
    ours = {
        "ours": _Writer(TransitionBuffer(half_cheetah_layout(capacity, n_envs))),
        "ours, prioritised": _Writer(
            TransitionBuffer(half_cheetah_layout(capacity, n_envs, priorities=priorities))
        ),
        "ours, sequences": _Writer(SequenceBuffer(sequences)),
    }
    peer = _PeerWriter(
        capacity=capacity, n_envs=n_envs, observation=HALF_CHEETAH, action=SIX_JOINTS
    )
    for writer in (*ours.values(), peer):  # the system hands out memory on the first round
        writer.add(-(-capacity // n_envs) + 1)
    contestants = [
        Contestant(name, lambda writer=writer: writer.add(_PART)) for name, writer in ours.items()
    ]
    return [*contestants, Contestant(PEER, lambda: peer.add(_PART))]


def _sample(buffer: TransitionBuffer, batch_size: int) -> Callable[[], int]:
    generator = torch.Generator().manual_seed(0)
    if buffer.priorities is None:
        return _repeat(lambda: buffer.sample(batch_size, generator=generator))

    def sample_and_update() -> None:
        batch = buffer.sample(batch_size, generator=generator, beta=_BETA)
        buffer.update_priorities(batch.index, batch.reward)

    return _repeat(sample_and_update)


def _repeat(work: Callable[[], object]) -> Callable[[], int]:
    def advance() -> int:
        for _ in range(_PART):
            work()
        return _PART

    return advance


class MemoryUse(NamedTuple):
    """Bytes of a full buffer."""

    declared: int | None
    resident: int


def measure_memory(capacity: int) -> dict[str, MemoryUse]:
    """Fill buffers of HalfCheetah's transitions, each in a process of its own.

    Args:
        capacity: Transitions.

    Returns:
        Of each buffer, what it declared and by how much the resident memory of its process grew.
    """
    return {"ours": fill_alone(fill_ours, capacity), PEER: fill_alone(fill_peer, capacity)}


def fill_alone(fill: Callable[[int], MemoryUse], capacity: int) -> MemoryUse:
    """Fill a buffer in a process of its own, where no freed memory waits for use."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(fill, capacity).result()


def fill_ours(capacity: int) -> MemoryUse:
    """Fill our buffer."""
    warm_up = TransitionBuffer(half_cheetah_layout(1000, 8))
    _Writer(warm_up).add(10)
    before = _resident_bytes()
    buffer = TransitionBuffer(half_cheetah_layout(capacity, 8))
    _Writer(buffer).add(buffer.layout.n_kept + 1)
    return MemoryUse(buffer.nbytes_declared, _resident_bytes() - before)


def fill_peer(capacity: int) -> MemoryUse:
    """Fill the peer's."""

    def build(size: int) -> _PeerWriter:
        return _PeerWriter(capacity=size, n_envs=8, observation=HALF_CHEETAH, action=SIX_JOINTS)

    build(1000).add(10)
    before = _resident_bytes()
    writer = build(capacity)
    writer.add(-(-capacity // 8))
    return MemoryUse(None, _resident_bytes() - before)


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
