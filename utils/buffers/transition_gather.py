"""Picking transitions with tensor operations, on any device; no number is read back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.buffers.discounts import discount_powers
from utils.buffers.frame_store import FrameStore
from utils.buffers.observation_leaves import assemble
from utils.buffers.transition_batch import TransitionBatch
from utils.models.triton_support import why_no_triton
from utils.uploads import upload_into

if TYPE_CHECKING:
    from utils.buffers.transition_buffer import TransitionBuffer


_MOST_NUMBERS = 1024
"""Of an observation or an action that one program of a GPU copies at once."""
_MOST_STEPS = 16
"""Of returns that a kernel follows, one step after another."""


class Geometry:
    """What draws and gathers on a device need to know besides the arrays, kept there.

    Names of transitions count on from 0, so what is held are the names from `oldest` to `end` - 1,
    and the place of a transition is the rest of its name modulo the number of places.

    Attributes:
        end: () int64, name of the first transition that is still to come.
        oldest: () int64, name of the oldest transition that is held.
        n_held: () int64, how many are held.
        powers: (n_step + 1,) float64, gamma^0 to gamma^n.
    """

    def __init__(self, *, first: int, gamma: float, n_step: int, device: torch.device) -> None:
        """Allocate the numbers of a buffer whose first transition will have the name `first`."""
        self._numbers = torch.tensor([first, first, 0], device=device)
        self.end, self.oldest, self.n_held = self._numbers.unbind()
        self.powers = torch.empty(0, dtype=torch.float64, device=device)
        self.set_discount(gamma, n_step)

    def set_held(self, oldest: int, end: int) -> None:
        """Write which transitions are held: the names from `oldest` to `end` - 1."""
        upload_into(self._numbers, torch.tensor([end, oldest, end - oldest]))

    def set_discount(self, gamma: float, n_step: int) -> None:
        """Write the powers of a discount, in place unless their number changed."""
        powers = torch.tensor(discount_powers(gamma, n_step), dtype=torch.float64)
        if len(self.powers) != len(powers):
            self.powers = torch.empty_like(powers, device=self.powers.device)
        self.powers.copy_(powers)


def name_on_device(buffer: TransitionBuffer, places: Tensor) -> Tensor:
    """Return the names of the transitions that lie in places, (B,) int64 each."""
    newest = buffer.geometry.end - 1
    return newest - (newest - places) % buffer.layout.n_slots


def gather_on_device(buffer: TransitionBuffer, index: Tensor) -> TransitionBatch:
    """Pick transitions by name, by the fastest way there is.

    All that changes between two calls lies on the device, so that a CUDA graph can hold the call;
    only `n_step` is fixed in it.

    Args:
        buffer: Its arrays lie on the device of `index`.
        index: (B,) int64 names.
    """
    if runs_fused(buffer):
        from utils.buffers.fused_gather import gather_fused

        return gather_fused(buffer, index)
    return gather_by_operations(buffer, index)


def runs_fused(buffer: TransitionBuffer) -> bool:
    """Say whether one kernel picks transitions: on a GPU, of one small observation, unstacked."""
    leaves = [store.leaf for store in buffer.frames.values()]
    return (
        buffer.place.device.type == "cuda"
        and [leaf.n_stacked for leaf in leaves] == [1]
        and math.prod(leaves[0].frame_shape) <= _MOST_NUMBERS
        and math.prod(buffer.layout.action_shape) <= _MOST_NUMBERS
        and buffer.n_step <= _MOST_STEPS
        and why_no_triton() is None
    )


def gather_by_operations(buffer: TransitionBuffer, index: Tensor) -> TransitionBatch:
    """Pick transitions by name: the reference; see `gather_on_device`.

    Operations are few rather than cheap: all steps of the returns, and all frames of the stacks of
    both observations, are found at once.
    """
    n_slots, powers = buffer.layout.n_slots, buffer.geometry.powers
    place = index % n_slots
    if buffer.n_step == 1:
        last, reward = index, buffer.reward.view(-1)[place]
        end, discount = buffer.ending.view(-1)[place], powers[1]
    else:
        last, reward, end, discount = _follow(buffer, index)
    is_terminal = end > 0
    following = last + buffer.layout.n_envs
    next_place = torch.where(end != 0, end.abs() + (n_slots - 1), following % n_slots)
    first, second = {}, {}
    for key, store in buffer.frames.items():
        if store.leaf.n_stacked == 1:
            first[key], second[key] = store.pick(place), store.pick(next_place)
        else:
            names, newest = torch.cat([index, following]), torch.cat([place, next_place])
            first[key], second[key] = _stacks(buffer, store, names, newest).chunk(2)
    return TransitionBatch(
        observation=assemble(first),
        action=buffer.action.flatten(0, 1)[place],
        reward=reward,
        next_observation=assemble(second),
        discount=torch.where(is_terminal, 0.0, discount).float(),
        terminated=is_terminal,
        truncated=end < 0,
        index=index,
    )


def _follow(buffer: TransitionBuffer, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Follow transitions for n steps, or fewer where an episode or the experience ends.

    Returns:
        Name of the last step; sum of the discounted rewards, float32; how the last step ended (see
        `TransitionBuffer.ending`); gamma to the power of the steps, float64. All (B,).
    """
    n, n_envs, powers = buffer.n_step, buffer.layout.n_envs, buffer.geometry.powers
    names = index[:, None] + torch.arange(0, n * n_envs, n_envs, device=index.device)
    places = names % buffer.layout.n_slots
    endings = buffer.ending.view(-1)[places]
    is_last = (endings != 0) | (names >= buffer.geometry.end - n_envs)
    is_part = is_last.cumsum(1) == is_last  # none of those before was the last
    reward = (powers[:n] * buffer.reward.view(-1)[places] * is_part).sum(1).float()
    k = is_part.sum(1, keepdim=True)
    end = endings.gather(1, k - 1)[:, 0]
    return names.gather(1, k - 1)[:, 0], reward, end, powers[k[:, 0]]


def _stacks(buffer: TransitionBuffer, store: FrameStore, names: Tensor, newest: Tensor) -> Tensor:
    """Put the stacks of frames of both observations of B transitions together.

    Args:
        buffer: Where the frames lie.
        store: Of one leaf.
        names: (2 B,) whose observations they are: of the transitions, then of what follows on them.
        newest: (2 B,) where the newest frame of each lies.

    Returns:
        (2 B, n_stacked * C, ...)
    """
    k, n_envs, n_slots = store.leaf.n_stacked, buffer.layout.n_envs, buffer.layout.n_slots
    device = names.device
    older = (names[:, None] - torch.arange(n_envs, k * n_envs, n_envs, device=device)) % n_slots
    # An older frame is there unless an episode ended with it; then the last is repeated. What
    # follows on a transition is always of the episode of that one.
    is_there = buffer.ending.view(-1)[older] == 0
    is_there[len(names) // 2 :, 0].fill_(True)
    n_back = is_there.long().cumprod(1).sum(1, keepdim=True)
    ages = torch.arange(k - 1, -1, -1, device=device)
    places = torch.cat([newest[:, None], older], dim=1).gather(1, torch.minimum(n_back, ages))
    return store.pick(places).flatten(1, 2)
