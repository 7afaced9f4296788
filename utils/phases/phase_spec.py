"""What one phase of a training is, and which lists of phases make sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

COLLECT = "collect"
"""The hook that steps the environments."""
EVALUATE = "evaluate"
"""The hook that judges the policy on fresh episodes."""

PhaseType = Literal["online", "offline", "eval_only"]
DurationUnit = Literal["timesteps", "updates", "cycles"]

PHASE_TYPES: tuple[PhaseType, ...] = ("online", "offline", "eval_only")

# Which unit counts in which type of phase: a duration must come to its end.
_UNITS: dict[PhaseType, tuple[DurationUnit, ...]] = {
    "online": ("timesteps", "updates", "cycles"),
    "offline": ("updates", "cycles"),
    "eval_only": ("cycles",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSpec:
    """One stretch of a training.

    A *cycle* is one turn through the hooks: online, one stretch of collecting and the updates that
    are due after it; offline, one update; eval_only, one evaluation.
    """

    name: str
    """For people, checkpoints and metrics; unique within a run."""
    type: PhaseType
    """online: steps the environments; offline: learns from what was stored; eval_only: judges."""
    hooks: tuple[str, ...]
    """Names of the work that is done, in the order of each cycle."""
    duration: int | None = None
    """How much of `unit`, >= 1; None: to the end of the run, in the last phase only."""
    unit: DurationUnit = "timesteps"
    """timesteps: environment steps over all environments, rounded up to whole vector steps;
    updates: turns through the update hooks; cycles: see above."""

    @property
    def update_hooks(self) -> tuple[str, ...]:
        """The hooks that learn."""
        return tuple(hook for hook in self.hooks if hook not in (COLLECT, EVALUATE))


class PhaseFault(NamedTuple):
    """What is wrong with a list of phases, and with which."""

    position: int
    """In the list, from 0."""
    message: str


def find_phase_faults(
    phases: Sequence[PhaseSpec], *, update_hooks: Sequence[str], max_timesteps: int
) -> list[PhaseFault]:
    """List what keeps a list of phases from being carried out.

    Args:
        phases: In their order; an empty list has no fault.
        update_hooks: Names of the algorithm's own work.
        max_timesteps: Environment steps of the whole run.
    """
    faults: list[PhaseFault] = []
    for index, phase in enumerate(phases):
        known = (COLLECT, *update_hooks, EVALUATE)
        faults += [PhaseFault(index, text) for text in _faults_of_one(phase, known)]
        if phase.duration is None and phase.type == "online" and index < len(phases) - 1:
            text = "lasts to the end of the run (no duration), but another phase follows it"
            faults.append(PhaseFault(index, text))
        if phase.name in [other.name for other in phases[:index]]:
            faults.append(PhaseFault(index, "has the name of an earlier phase"))
    if not faults:
        faults += _faults_of_all(phases, max_timesteps=max_timesteps)
    return faults


def _faults_of_one(phase: PhaseSpec, known: Sequence[str]) -> list[str]:
    faults = [
        f"has the hook '{hook}', which this algorithm does not know (known: {', '.join(known)})"
        for hook in phase.hooks
        if hook not in known
    ]
    if len(set(phase.hooks)) < len(phase.hooks):
        faults.append("names a hook twice")
    if not phase.hooks:
        return ["has no hooks, so nothing would be done"]
    if phase.duration is not None and phase.unit not in _UNITS[phase.type]:
        units = ", ".join(_UNITS[phase.type])
        faults.append(f"is {phase.type} and never counts {phase.unit} (it counts {units})")
    elif phase.unit == "updates" and phase.duration is not None and not phase.update_hooks:
        faults.append("lasts for a number of updates and has no hook that updates")
    return faults + _faults_of_type(phase)


def _faults_of_type(phase: PhaseSpec) -> list[str]:
    match phase.type:
        case "online" if phase.hooks[:1] != (COLLECT,):
            return [f"is online, so its first hook must be '{COLLECT}'"]
        case "online" if EVALUATE in phase.hooks:
            return [f"is online, and '{EVALUATE}' belongs to eval_only: eval_freq_* do that here"]
        case "offline" if {COLLECT, EVALUATE} & set(phase.hooks):
            return ["is offline, so it has only hooks that update"]
        case "eval_only" if phase.hooks != (EVALUATE,):
            return [f"is eval_only, so its one hook is '{EVALUATE}'"]
        case "offline" | "eval_only" if phase.duration is None:
            return [f"is {phase.type}, so it needs a duration: it takes no timesteps of the run"]
    return []


def _faults_of_all(phases: Sequence[PhaseSpec], *, max_timesteps: int) -> list[PhaseFault]:
    types = [phase.type for phase in phases]
    if "offline" in types and "online" not in types[: types.index("offline")]:
        text = "is offline and comes first, when nothing is stored yet"
        return [PhaseFault(types.index("offline"), text)]
    total = 0
    for index, phase in enumerate(phases):
        if phase.unit == "timesteps" and phase.duration is not None:
            total += phase.duration
            if total > max_timesteps:
                text = f"ends at timestep {total}, after max_timesteps {max_timesteps}"
                return [PhaseFault(index, text)]
    return []
