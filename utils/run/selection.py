"""The run and the checkpoint that a person means by a reference and an option."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from utils.errors import CheckpointError, UserError
from utils.run.registry import split_reference
from utils.run.run import Run

_ATTEMPTS = 10


class _Plan(Protocol):
    @property
    def checkpoint(self) -> Path:
        """The chosen file."""
        ...


_PlanT = TypeVar("_PlanT", bound=_Plan)
_T = TypeVar("_T")


class Selection(NamedTuple):
    """A run that exists and one of its checkpoints."""

    run: Run
    checkpoint: Path
    notes: tuple[str, ...]
    """What a person should know about the choice, one line each."""


def select_checkpoint(reference: str, checkpoint: str | None, *, runs_dir: Path) -> Selection:
    """Find a run and one of its checkpoints: what is named, or the best, the last, the newest.

    Args:
        reference: `<run>[/@best|/@last|/epoch=XX]`.
        checkpoint: A checkpoint named apart from the run, or None.
        runs_dir: The folder of all runs.

    Raises:
        UserError: Two checkpoints are named, or one of what is named does not exist.
    """
    run_reference, name = split_reference(reference)
    if name is not None and checkpoint is not None and name != checkpoint:
        raise UserError(f"two checkpoints: '{reference}' and --checkpoint {checkpoint}")
    run = Run.open(run_reference, runs_dir=runs_dir)
    name = checkpoint if name is None else name
    if name is not None:
        return Selection(run, run.checkpoint(name), ())
    return Selection(run, *_choose(run))


def work_on_checkpoint(
    plan: _PlanT, work: Callable[[_PlanT], _T], *, choose: Callable[[], _PlanT]
) -> _T:
    """Do something with a checkpoint, though a run that trains may remove it before it is read.

    Args:
        plan: Has the checkpoint that was chosen.
        work: Loads the checkpoint of a plan before anything that must not be done twice.
        choose: Chooses again by what the person has asked for.

    Returns:
        What `work` returns.

    Raises:
        CheckpointError: The checkpoint is there and cannot be loaded.
        UserError: What the person has named is not there any more; or of `work`.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return work(plan)
        except CheckpointError:
            if plan.checkpoint.exists():
                raise
        plan = choose()
    return work(plan)


def _choose(run: Run) -> tuple[Path, tuple[str, ...]]:
    for reference, notes in (
        ("@best", ()),
        ("@last", ("this run has no best checkpoint yet: its last one is used",)),
    ):
        with contextlib.suppress(CheckpointError):
            return run.checkpoint(reference), notes
    checkpoints = run.list_checkpoints()
    if not checkpoints:
        return run.checkpoint("@last"), ()  # it says what is missing
    note = "neither the best nor the last checkpoint is marked in this folder: the newest is used"
    return checkpoints[-1], (note,)
