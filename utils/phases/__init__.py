"""The stretches that a training is made of: what each does, and how long it lasts."""

from utils.phases.phase_needs import find_hungry_phases
from utils.phases.phase_scheduler import ALL_COMPLETE, PHASES_DONE_KEY, PhaseScheduler
from utils.phases.phase_spec import (
    COLLECT,
    EVALUATE,
    PHASE_TYPES,
    PhaseFault,
    PhaseSpec,
    find_phase_faults,
)
from utils.phases.update_budget import UpdateBudget

__all__ = [
    "ALL_COMPLETE",
    "COLLECT",
    "EVALUATE",
    "PHASES_DONE_KEY",
    "PHASE_TYPES",
    "PhaseFault",
    "PhaseScheduler",
    "PhaseSpec",
    "UpdateBudget",
    "find_hungry_phases",
    "find_phase_faults",
]
