"""The numbers of a rollout that learning targets are made of, joined over several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.rollouts import RolloutBuffer

if TYPE_CHECKING:
    from utils.distributed.team import Team

_NUMBERS = ("reward", "value", "next_value")
_TRUTHS = ("terminated", "truncated", "is_valid")


class WholeRollout:
    """What learning targets are made of, for all environments of the run: (T, N) each.

    It has the names of a `RolloutBuffer`, so that who reads one reads the other.
    """

    def __init__(self, buffer: RolloutBuffer, team: Team) -> None:
        """Join the columns of all processes."""
        numbers = torch.stack([buffer.rows(getattr(buffer, name)) for name in _NUMBERS])
        truths = torch.stack([buffer.rows(getattr(buffer, name)) for name in _TRUTHS])
        n_steps = buffer.n_steps
        numbers = team.gather_columns(numbers.flatten(0, 1)).unflatten(0, (-1, n_steps))
        truths = team.gather_columns(truths.flatten(0, 1)).unflatten(0, (-1, n_steps))
        self.n_steps = n_steps
        self.reward, self.value, self.next_value = numbers
        self.terminated, self.truncated, self.is_valid = truths

    @property
    def done(self) -> Tensor:
        """(T, N) bool, terminated or truncated."""
        return self.terminated | self.truncated

    def rows(self, field: Tensor) -> Tensor:
        """Return the rows of a field: all of them."""
        return field
