"""Target networks: parameters that follow others slowly."""

from __future__ import annotations

import torch
from torch import nn


def move_towards_(target: nn.Module, source: nn.Module, *, tau: float) -> None:
    """Set every parameter of `target` to ``(1 - tau) target + tau source``, in place.

    Lillicrap et al. 2016, "Continuous control with deep reinforcement learning", algorithm 1.

    Args:
        target: Changed; of the same structure as `source`.
        source: Left as it is.
        tau: In (0, 1]; 1 copies.
    """
    with torch.no_grad():
        torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), tau)


def warmed_up_decay(n_updates: int, *, power: float, most: float) -> float:
    """Return how much of itself a moving average keeps after so many updates before this one.

    ``min(most, 1 - (1 + n)^-power)``: nothing at first, so that the initial weights are forgotten.

    Args:
        n_updates: Updates before this one n, >= 0.
        power: > 0.
        most: In [0, 1].
    """
    assert n_updates >= 0, n_updates
    return min(most, 1.0 - (1.0 + n_updates) ** -power)
