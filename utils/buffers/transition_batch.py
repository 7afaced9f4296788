"""What the losses of agents that learn from transitions read."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

Observation = Tensor | dict[str, Tensor]


class TransitionBatch(NamedTuple):
    """B transitions of n steps each, or of fewer where an episode or the experience ended.

    The target of a value is `reward + discount * V(next_observation)`, whatever n is and however
    the episode ended.
    """

    observation: Observation
    """(B, ...) raw."""
    action: Tensor
    """(B, ...) as it was given to `add`."""
    reward: Tensor
    """(B,) float32, sum of gamma^i r_i over the k <= n steps."""
    next_observation: Observation
    """(B, ...) raw, what the k steps led to; the final one where the episode ended, never that of
    the reset."""
    discount: Tensor
    """(B,) float32, gamma^k, or 0 where the MDP terminated."""
    terminated: Tensor
    """(B,) bool, the last of the k steps terminated."""
    truncated: Tensor
    """(B,) bool, the last of the k steps was truncated."""
    index: Tensor
    """(B,) int64, names of the transitions for `gather` and `update_priorities`."""
    weight: Tensor | None = None
    """(B,) float32 in (0, 1], importance weights of prioritised sampling; None without it."""
