"""Which phases would learn from less than they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from utils.phases.phase_spec import PhaseFault, PhaseSpec


def find_hungry_phases(
    phases: Sequence[PhaseSpec],
    *,
    needs: Callable[[PhaseSpec], int],
    stores: Callable[[PhaseSpec], bool],
    n_envs: int,
    cycle_timesteps: int,
    max_timesteps: int,
) -> list[PhaseFault]:
    """Name the offline phase that comes before enough is stored; the first one only.

    Args:
        phases: In their order, without other faults.
        needs: Timesteps that must be stored before a phase may learn, >= 0.
        stores: Whether what a phase collects is stored.
        n_envs: Environments, which are stepped together.
        cycle_timesteps: The most timesteps of one cycle of an online phase.
        max_timesteps: Environment steps of the whole run, with which every online phase ends.
    """
    stored = 0.0
    most = _in_vector_steps(max_timesteps, n_envs)
    for index, phase in enumerate(phases):
        needed = needs(phase)
        if phase.type == "offline" and stored < needed:
            bound = f", all that max_timesteps {max_timesteps:,} allows," if stored == most else ""
            text = f"learns from {stored:,.0f} stored timesteps{bound} and needs {needed:,}"
            return [PhaseFault(index, text)]
        if phase.type == "online" and stores(phase):
            stored = min(most, stored + _most_collected(phase, n_envs, cycle_timesteps))
    return []


def _most_collected(phase: PhaseSpec, n_envs: int, cycle_timesteps: int) -> float:
    """Return the most timesteps that an online phase collects."""
    if phase.duration is None or phase.unit == "updates":
        return math.inf  # it waits until there is enough to learn from
    if phase.unit == "cycles":
        return phase.duration * cycle_timesteps
    return _in_vector_steps(phase.duration, n_envs)


def _in_vector_steps(timesteps: int, n_envs: int) -> int:
    """Return the timesteps of as many vector steps as make at least so many."""
    return -(-timesteps // n_envs) * n_envs
