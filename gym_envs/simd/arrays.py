"""The memory that one vector environment works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gym_envs.physics import ClassicSpec

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector register


class SimdArrays(NamedTuple):
    """What a step reads and writes, for N environments; `step_kernel(*arrays)` does one.

    The last four and `is_first` are the state of the environments, the others are what a step
    takes and gives.
    """

    action: np.ndarray
    """(N,) int32, or (N, 1) float32 where actions are real numbers."""
    observation: np.ndarray
    """(N, n_observation) float32; of the new episode where one ended."""
    reward: np.ndarray
    """(N,) float32."""
    terminated: np.ndarray
    """(N,) bool."""
    truncated: np.ndarray
    """(N,) bool, never where `terminated`."""
    final_observation: np.ndarray
    """(N, n_observation) float32 in Fortran order: what the step led to, before any reset."""
    is_first: np.ndarray
    """(N,) bool, `observation` is the first of an episode: after a step, where one ended."""
    episode_return: np.ndarray
    """(N,) float32 up to now of the episode that the last step belonged to: where it ended, of the
    whole episode. 0 after a reset."""
    episode_length: np.ndarray
    """(N,) int32, likewise, in steps."""
    state: np.ndarray
    """(n_state, N) float32."""
    random: np.ndarray
    """(2, N) uint32: counter and key of each environment's random numbers."""
    limits: np.ndarray
    """(1,) int32: the number of steps after which an episode is truncated."""


_OUTPUTS = ("observation", "reward", "terminated", "truncated", "final_observation")


def allocate_arrays(spec: ClassicSpec, n_envs: int) -> tuple[SimdArrays, SimdArrays]:
    """Return two sets of arrays that share everything but what a step gives."""
    even = _allocate(spec, n_envs)
    outputs = _allocate(spec, n_envs)
    return even, even._replace(**{name: getattr(outputs, name) for name in _OUTPUTS})


def address_table(arrays: SimdArrays) -> np.ndarray:
    """Return the number of environments and the arrays' addresses, (13,) int64."""
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    return np.array([len(arrays.reward), *addresses], dtype=np.int64)


def _allocate(spec: ClassicSpec, n_envs: int) -> SimdArrays:
    action_dtype = np.int32 if spec.n_actions else np.float32
    action_shape = (n_envs,) if spec.n_actions else (n_envs, 1)
    return SimdArrays(
        action=_aligned(action_shape, action_dtype),
        observation=_aligned((n_envs, spec.n_observation), np.float32),
        reward=_aligned((n_envs,), np.float32),
        terminated=_aligned((n_envs,), np.bool_),
        truncated=_aligned((n_envs,), np.bool_),
        final_observation=_aligned((spec.n_observation, n_envs), np.float32).T,
        is_first=_aligned((n_envs,), np.bool_),
        episode_return=_aligned((n_envs,), np.float32),
        episode_length=_aligned((n_envs,), np.int32),
        state=_aligned((spec.n_state, n_envs), np.float32),
        random=_aligned((2, n_envs), np.uint32),
        limits=_aligned((1,), np.int32),
    )


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    block = np.zeros(n_bytes + _ALIGNMENT, dtype=np.uint8)
    start = -block.__array_interface__["data"][0] % _ALIGNMENT
    return block[start : start + n_bytes].view(dtype).reshape(shape)
