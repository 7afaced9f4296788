"""Which phase a training is in: a state machine that counts, without tensors or environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.errors import CheckpointError
from utils.phases.phase_spec import PhaseSpec

ALL_COMPLETE = "all phases completed"
"""Why a training ended whose phases were all carried out."""

PHASES_DONE_KEY = "train/replay/phases_done"
"""Metric of `PhaseScheduler.position`, in trainings of several phases."""


class PhaseScheduler:
    """Walks through phases in their order as work is reported to it.

    A plain agent has one phase without an end.
    """

    def __init__(self, phases: Sequence[PhaseSpec]) -> None:
        """Begin with the first phase.

        Args:
            phases: At least one; see `find_phase_faults`.
        """
        assert phases, "a training has at least one phase"
        self.phases = tuple(phases)
        self._index = 0
        self._done = _nothing()

    @property
    def current(self) -> PhaseSpec:
        """The phase that work is done for; the last one once all are complete."""
        return self.phases[min(self._index, len(self.phases) - 1)]

    @property
    def index(self) -> int:
        """Position of the current phase, from 0; the number of phases once all are complete."""
        return self._index

    @property
    def position(self) -> float:
        """How many phases are carried out, with the share of the current one if it has a length."""
        duration = self.phases[self._index].duration if not self.is_complete else None
        share = 0.0 if duration is None else self._done[self.current.unit] / duration
        return self._index + share

    @property
    def is_complete(self) -> bool:
        """Whether every phase has come to its end."""
        return self._index == len(self.phases)

    def done(self, unit: str) -> int:
        """Return how much of a unit the current phase has seen."""
        return self._done[unit]

    def remaining(self, unit: str) -> int | None:
        """Return how much of `unit` the current phase still asks for.

        Returns:
            None where the phase does not end by this unit.
        """
        phase = self.current
        if phase.duration is None or phase.unit != unit:
            return None
        return max(0, phase.duration - self._done[unit])

    def advance(self, *, timesteps: int = 0, updates: int = 0, cycles: int = 0) -> bool:
        """Report work that was done in the current phase.

        Args:
            timesteps: Environment steps over all environments.
            updates: Turns through the update hooks.
            cycles: Turns through all hooks.

        Returns:
            Whether the phase ended with it.
        """
        assert not self.is_complete, "all phases are complete"
        self._done["timesteps"] += timesteps
        self._done["updates"] += updates
        self._done["cycles"] += cycles
        if self.remaining(self.current.unit) != 0:
            return False
        self._index += 1
        self._done = _nothing()
        return True

    def leave_online(self) -> bool:
        """Go on to the next phase that takes no timesteps, for the run has none left.

        Returns:
            Whether there was one to come; if not, the current phase goes on.
        """
        to_come = self.phases[self._index :]
        n_online = next((i for i, phase in enumerate(to_come) if phase.type != "online"), 0)
        if n_online > 0:
            self._index += n_online
            self._done = _nothing()
        return n_online > 0

    def state_dict(self) -> dict[str, Any]:
        """Return the place in the phases as plain values."""
        names = [phase.name for phase in self.phases]
        return {"names": names, "index": self._index, "done": dict(self._done)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            CheckpointError: The state is of other phases.
        """
        names = [phase.name for phase in self.phases]
        if state["names"] != names:
            raise CheckpointError(
                f"the saved state is of the phases {', '.join(state['names'])}, and the config has "
                f"{', '.join(names)}"
            )
        self._index = state["index"]
        self._done = dict(state["done"])


def _nothing() -> dict[str, int]:
    return {"timesteps": 0, "updates": 0, "cycles": 0}
