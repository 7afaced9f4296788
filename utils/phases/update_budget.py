"""How many updates a number of environment steps pays for: whole numbers, nothing lost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

_FINEST = 1_000_000


class UpdateBudget:
    """Keeps ``updates = floor(ratio * timesteps)`` over any sequence of steps and updates.

    Both counts begin where learning begins, so that the steps of a warm-up pay for nothing: when it
    ends, or when a run goes on with an empty buffer, there is no burst of updates.
    """

    def __init__(self, ratio: float | Fraction) -> None:
        """Begin with nothing paid in.

        Args:
            ratio: Updates for each timestep, > 0; taken as the nearest fraction with a denominator
                of at most a million, so that 0.1 is a tenth.
        """
        self.ratio = Fraction(ratio).limit_denominator(_FINEST)
        self.timesteps = 0
        self.updates = 0

    @property
    def due(self) -> int:
        """Updates that are paid for and not made."""
        return self.timesteps * self.ratio.numerator // self.ratio.denominator - self.updates

    def pay_in(self, timesteps: int) -> None:
        """Count environment steps that were made while learning."""
        self.timesteps += timesteps

    def spend(self, updates: int) -> None:
        """Count updates that were made."""
        assert updates <= self.due, (updates, self.due)
        self.updates += updates

    def restart(self) -> None:
        """Begin anew: what was paid in and not spent is forgotten."""
        self.timesteps = self.updates = 0

    def state_dict(self) -> dict[str, Any]:
        """Return both counts."""
        return {"timesteps": self.timesteps, "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.timesteps, self.updates = state["timesteps"], state["updates"]
