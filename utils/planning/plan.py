"""What a planner improves: a normal distribution over sequences of actions, and its bounds.

H steps ahead, N environments, K candidates for each of them, A numbers of an action.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import gymnasium as gym
import torch
from torch import Tensor

Evaluate = Callable[[Tensor], Tensor]
"""Sequences of actions (H, N, K, A) -> the return that each promises, (N, K)."""


class Stage(NamedTuple):
    """One iteration of a planner, for whoever looks on."""

    worth: Tensor
    """(N, K) what all candidates are worth."""
    elites: Tensor
    """(H, N, E, A) the best of them, the best one first."""
    index: Tensor
    """(N, E) int64 which candidates these are; those that were given come first, 0 to P - 1."""
    values: Tensor
    """(N, E) what they are worth."""
    scores: Tensor
    """(N, E) their weights, which sum up to 1."""
    mean: Tensor
    """(H, N, A) of the distribution that they make."""
    std: Tensor
    """(H, N, A)"""


Watch = Callable[[Stage], None]
"""Is told of every iteration of a planner."""


class Bounds(NamedTuple):
    """Lowest and highest action."""

    low: Tensor
    """(A,) float32"""
    high: Tensor
    """(A,) float32"""


class Plan(NamedTuple):
    """What may be done in the next H steps; dimensions are independent."""

    mean: Tensor
    """(H, N, A)"""
    std: Tensor
    """(H, N, A)"""

    @property
    def action(self) -> Tensor:
        """What to do now, (N, A)."""
        return self.mean[0]


def bounds_of(space: gym.Space, *, device: torch.device | str = "cpu") -> Bounds:
    """Return the bounds of single actions, flat; only a Box has some that can be averaged."""
    assert isinstance(space, gym.spaces.Box), f"plans are made of numbers, not of choices: {space}"
    assert space.is_bounded(), f"plans need actions with bounds: {space}"
    low, high = (
        torch.as_tensor(x.reshape(-1), dtype=torch.float32, device=device)
        for x in (space.low, space.high)
    )
    return Bounds(low, high)


def first_plan(bounds: Bounds, *, n_steps: int, n: int) -> Plan:
    """Return the plan of someone who knows nothing: the middle, and from there to the bounds."""
    shape = (n_steps, n, len(bounds.low))
    middle, reach = (bounds.high + bounds.low) / 2.0, (bounds.high - bounds.low) / 2.0
    return Plan(middle.expand(shape).clone(), reach.expand(shape).clone())


def shift_plan(plan: Plan, bounds: Bounds, *, is_first: Tensor) -> Plan:
    """Return the plan to begin with one step later: what was planned for then, as uncertain as new.

    Args:
        plan: Of the step before.
        bounds: See there.
        is_first: (N,) bool; where an episode begins the old plan is forgotten.
    """
    n_steps, n, _ = plan.mean.shape
    fresh = first_plan(bounds, n_steps=n_steps, n=n)
    shifted = torch.cat([plan.mean[1:], fresh.mean[-1:]])
    return Plan(torch.where(is_first.view(1, n, 1), fresh.mean, shifted), fresh.std)


def draw_candidates(plan: Plan, noise: Tensor, bounds: Bounds) -> Tensor:
    """Return ``clip(mean + std * noise)``, (H, N, K, A).

    Args:
        plan: What they are drawn from.
        noise: (H, N, K, A) of a standard normal distribution.
        bounds: See there.
    """
    drawn = torch.addcmul(plan.mean.unsqueeze(2), plan.std.unsqueeze(2), noise)
    return torch.clamp(drawn, bounds.low, bounds.high)


def pick_candidates(candidates: Tensor, index: Tensor) -> Tensor:
    """Return some candidates of each environment, (H, N, E, A).

    Args:
        candidates: (H, N, K, A)
        index: (N, E) int64 which.
    """
    n_steps, _, _, size = candidates.shape
    chosen = index[None, :, :, None].expand(n_steps, -1, -1, size)
    return candidates.gather(2, chosen)
