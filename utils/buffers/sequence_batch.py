"""What the losses of agents that learn from sequences read."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

Observation = Tensor | dict[str, Tensor]


class SequenceBatch(NamedTuple):
    """B sequences of L rows; a row is one observation, with what led to it and what was done there.

    An episode of n steps has n + 1 rows. The reward and the flags of a row arrived with its
    observation, so the step from row j to row j + 1 is `action[:, j]`, `reward[:, j + 1]`,
    `terminated[:, j + 1]`, unless `is_first[:, j + 1]`: then row j was the end of an episode.
    """

    observation: Observation
    """(B, L, ...) raw; a final observation is a row of its own."""
    action: Tensor
    """(B, L, ...) what was done there, as it was given to `add`; zeros where an episode ended."""
    reward: Tensor
    """(B, L) float32, paid by the step that led there; 0 where an episode began."""
    is_first: Tensor
    """(B, L) bool, an episode began there; never true for no other reason than that the sequence
    begins there."""
    terminated: Tensor
    """(B, L) bool, the MDP ended there."""
    truncated: Tensor
    """(B, L) bool, the episode was cut off there."""
    state: dict[str, Tensor]
    """(B, L, ...) of what a model remembered there, as it was last written."""
    index: Tensor
    """(B, L) int64 on the CPU, names of the rows for `write_state`; those of the first rows,
    `index[:, 0]`, name the sequences."""
    weight: Tensor | None = None
    """(B,) float32 in (0, 1], importance weights of prioritised sampling; None without it."""
