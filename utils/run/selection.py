"""The run and the checkpoint that a person means by a reference and an option."""

from __future__ import annotations

from pathlib import Path

from utils.errors import CheckpointError, UserError
from utils.run.registry import split_reference
from utils.run.run import Run


def select_checkpoint(
    reference: str, checkpoint: str | None, *, runs_dir: Path
) -> tuple[Run, Path]:
    """Find a run and one of its checkpoints: the one that is named, the best, or the last.

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
    name = name or checkpoint
    if name is not None:
        return run, run.checkpoint(name)
    try:
        return run, run.checkpoint("@best")
    except CheckpointError:
        return run, run.checkpoint("@last")
