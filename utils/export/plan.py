"""What one call of scripts/export_policy.py will do, decided before anything heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from utils.config import Config, load_config_json
from utils.errors import MissingDependencyError, UserError
from utils.export.cli import SUFFIXES, ExportArgs
from utils.run import Run
from utils.run.selection import select_checkpoint

_ONNX_PACKAGES = ("onnx", "onnxscript", "onnxruntime")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportPlan:
    """A run that exists, its config, the checkpoint to export, and where to."""

    args: ExportArgs
    run: Run
    config: Config
    checkpoint: Path
    output: Path
    notes: tuple[str, ...]
    """What a person should know about the choices made, one line each."""


def plan_export(args: ExportArgs) -> ExportPlan:
    """Find the run, its config and the checkpoint, and choose the file.

    Raises:
        UserError: One of them does not exist or cannot be read, the file's name does not fit the
            format, or a package that the format needs is missing.
    """
    if args.format == "onnx":
        require_onnx("export to ONNX")
    run, checkpoint, notes = select_checkpoint(args.run, args.checkpoint, runs_dir=args.runs_dir)
    config = load_config_json(run.config_path)
    suffix = SUFFIXES[args.format]
    output = args.output or run.path / "exports" / f"{checkpoint.stem}{suffix}"
    if args.output is not None:
        _check_output(args.output, suffix, args.format)
    return ExportPlan(
        args=args, run=run, config=config, checkpoint=checkpoint, output=output, notes=notes
    )


def require_onnx(needed_for: str) -> None:
    """Refuse to go on where a package of the extra `onnx` is missing.

    Raises:
        MissingDependencyError: It names the first that is missing.
    """
    for package in _ONNX_PACKAGES:
        if find_spec(package) is None:
            raise MissingDependencyError(package, extra="onnx", needed_for=needed_for)


def _check_output(output: Path, suffix: str, chosen: str) -> None:
    if output.suffix != suffix:
        raise UserError(f"--output {output}: a file of format {chosen} ends with {suffix}")
    if output.is_dir():
        raise UserError(f"--output {output}: that is a folder")
    if not output.parent.is_dir():
        raise UserError(f"--output {output}: there is no folder '{output.parent}'")
