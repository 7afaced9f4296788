"""The settings of one phase of a training, as YAML holds them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field
from typing_extensions import override

from utils.config.fields import PositiveInteger, Text
from utils.config.problems import Problem
from utils.config.spec import STRICT_MODEL
from utils.phases import PhaseFault, PhaseSpec, find_phase_faults


class DurationConfig(BaseModel):
    """How long a phase lasts: one of the units."""

    model_config = STRICT_MODEL

    timesteps: PositiveInteger | None = Field(
        default=None,
        description="Environment steps over all environments, rounded up to whole vector steps.",
    )
    updates: PositiveInteger | None = Field(
        default=None, description="Updates: turns through the hooks that learn."
    )
    cycles: PositiveInteger | None = Field(
        default=None,
        description=(
            "Turns through all hooks: one stretch of collecting with the updates that it pays for; "
            "offline one update; eval_only one evaluation."
        ),
    )

    @property
    def written(self) -> dict[str, int]:
        """The units that have a value."""
        return {unit: n for unit, n in self.model_dump().items() if n is not None}

    @override
    def __str__(self) -> str:
        """Say how long, as people read it: `16,000 timesteps`."""
        return " and ".join(f"{n:,} {unit}" for unit, n in self.written.items())


class PhaseConfig(BaseModel):
    """One stretch of a training."""

    model_config = STRICT_MODEL

    name: Text = Field(description="For people, metrics and checkpoints; unique.")
    type: Literal["online", "offline", "eval_only"] = Field(
        description=(
            "online: steps the environments; offline: learns from what is stored; eval_only: "
            "judges the policy."
        )
    )
    duration: DurationConfig | None = Field(
        default=None, description="How long it lasts; null: to the end of the run (last phase)."
    )
    hooks: tuple[Text, ...] = Field(
        description="What is done, in this order: collect, the algorithm's updates, evaluate."
    )

    @override
    def __str__(self) -> str:
        """Say what it is, as people read it: `see (offline, 600 updates: update_vae)`."""
        length = "to the end" if self.duration is None else str(self.duration)
        return f"{self.name} ({self.type}, {length}: {', '.join(self.hooks)})"

    def spec(self) -> PhaseSpec:
        """Return the phase as the scheduler takes it."""
        written = {} if self.duration is None else self.duration.written
        (unit, duration), *_ = [*written.items(), ("timesteps", None)]
        return PhaseSpec(
            name=self.name,
            type=self.type,
            hooks=self.hooks,
            duration=duration,
            unit=unit,  # type: ignore[arg-type]
        )


def phase_problems(
    phases: tuple[PhaseConfig, ...], *, update_hooks: tuple[str, ...], max_timesteps: int
) -> list[Problem]:
    """List what keeps phases from being carried out; see `find_phase_faults`."""
    problems = []
    for index, phase in enumerate(phases):
        if phase.duration is not None and len(phase.duration.written) != 1:
            key = f"phases.{index}.duration"
            problems.append(
                Problem((key,), f"'{key}' must have one of timesteps, updates and cycles")
            )
    if problems:
        return problems
    faults = find_phase_faults(
        [phase.spec() for phase in phases], update_hooks=update_hooks, max_timesteps=max_timesteps
    )
    return [problem_of_fault(phases, fault) for fault in faults]


def problem_of_fault(phases: tuple[PhaseConfig, ...], fault: PhaseFault) -> Problem:
    """Return what is wrong with one of the phases as a problem of the config."""
    name, key = phases[fault.position].name, f"phases.{fault.position}"
    return Problem((key,), f"phase '{name}' ({key}) {fault.message}")


def problem_of_hunger(phases: tuple[PhaseConfig, ...], fault: PhaseFault, hint: str) -> Problem:
    """Return that a phase learns from too little; how long those before it last may be at fault."""
    problem = problem_of_fault(phases, fault)
    before = [
        f"phases.{index}.duration.{unit}"
        for index, phase in enumerate(phases[: fault.position])
        for unit in (phase.duration.written if phase.duration else ())
    ]
    return Problem((*problem.keys, *before), f"{problem.message}{hint}")
