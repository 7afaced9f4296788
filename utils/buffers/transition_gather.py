"""Picking transitions with tensor operations, on any device; no number is read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.buffers.discounts import discount_powers
from utils.buffers.observation_leaves import assemble
from utils.buffers.transition_batch import TransitionBatch

if TYPE_CHECKING:
    from utils.buffers.transition_buffer import TransitionBuffer


class Geometry:
    """What a gather on a device needs to know besides the arrays, kept there.

    Attributes:
        head: () int64, number of the vector step that comes next.
        powers: (n_step + 1,) float64, gamma^0 to gamma^n.
    """

    def __init__(self, *, head: int, gamma: float, n_step: int, device: torch.device) -> None:
        """Allocate the numbers."""
        self.head = torch.tensor(head, device=device)
        self.powers = torch.empty(0, dtype=torch.float64, device=device)
        self.set_discount(gamma, n_step)

    def set_discount(self, gamma: float, n_step: int) -> None:
        """Write the powers of a discount, in place unless their number changed."""
        powers = torch.tensor(discount_powers(gamma, n_step), dtype=torch.float64)
        if len(self.powers) != len(powers):
            self.powers = torch.empty_like(powers, device=self.powers.device)
        self.powers.copy_(powers)


def gather_on_device(buffer: TransitionBuffer, index: Tensor) -> TransitionBatch:
    """Pick transitions by name.

    All that changes between two calls lies on the device, so that a CUDA graph can hold the call;
    only `n_step` is fixed in it.

    Args:
        buffer: Its arrays lie on the device of `index`.
        index: (B,) int64 names.
    """
    n_envs, n_rows = buffer.layout.n_envs, buffer.layout.n_rows
    step, env = index // n_envs, index % n_envs
    reward, ending = buffer.reward.view(-1), buffer.ending.view(-1)

    def slot(at: Tensor) -> Tensor:
        return at % n_rows * n_envs + env

    head, powers = buffer.geometry.head, buffer.geometry.powers
    total = torch.zeros(len(index), dtype=torch.float64, device=index.device)
    last = step
    end = torch.zeros(len(index), dtype=torch.int32, device=index.device)
    goes_on = torch.ones(len(index), dtype=torch.bool, device=index.device)
    for i in range(buffer.n_step):
        place = slot(step + i)
        total += torch.where(goes_on, powers[i] * reward[place].double(), 0.0)
        end = torch.where(goes_on, ending[place], end)
        last = torch.where(goes_on, step + i, last)
        goes_on = goes_on & (end == 0) & (step + i + 1 < head)
    discount = torch.where(end > 0, 0.0, powers[last - step + 1])
    final = n_rows * n_envs + end.abs().long() - 1
    return TransitionBatch(
        observation=_observation(buffer, step, slot(step), env, is_next=False),
        action=buffer.action.flatten(0, 1)[slot(step)],
        reward=total.float(),
        next_observation=_observation(
            buffer, last, torch.where(end != 0, final, slot(last + 1)), env, is_next=True
        ),
        discount=discount.float(),
        terminated=end > 0,
        truncated=end < 0,
        index=index,
    )


def _observation(
    buffer: TransitionBuffer, step: Tensor, newest: Tensor, env: Tensor, *, is_next: bool
) -> Tensor | dict[str, Tensor]:
    """Put observations together.

    Args:
        buffer: Where the frames lie.
        step: (B,) the step whose observation it is; with `is_next` what that step led to.
        newest: (B,) where the newest frame lies.
        env: (B,)
        is_next: See `step`.
    """
    n_envs, n_rows = buffer.layout.n_envs, buffer.layout.n_rows
    ending = buffer.ending.view(-1)
    parts = {}
    for key, store in buffer.frames.items():
        frames = [store.flat[newest]]
        place, goes_back = newest, torch.ones_like(env, dtype=torch.bool)
        for i in range(1, store.leaf.n_stacked):
            # An older frame is there unless an episode ended with it; then the last is repeated.
            older = (step - i + is_next) % n_rows * n_envs + env
            if not (is_next and i == 1):
                goes_back = goes_back & (ending[older] == 0)
            place = torch.where(goes_back, older, place)
            frames.append(store.flat[place])
        parts[key] = frames[0] if len(frames) == 1 else torch.cat(frames[::-1], dim=1)
    return assemble(parts)
