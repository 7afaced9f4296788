"""What one call of run_publish.py will do, decided before anything heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from utils.config import Config, load_config_json
from utils.errors import MissingDependencyError, UserError
from utils.export.plan import require_onnx
from utils.publishing.cli import PublishArgs
from utils.publishing.names import CARD, LIBRARY, PUBLISHED_NAMES
from utils.run import Run
from utils.run.options import check_seeds
from utils.run.selection import select_checkpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishPlan:
    """A run that exists, its config, the checkpoint to publish, and where to."""

    args: PublishArgs
    run: Run
    config: Config
    checkpoint: Path
    is_deterministic: bool
    output: Path
    """The folder of a dry run."""
    notes: tuple[str, ...]
    """What a person should know about the choices made, one line each."""


def plan_publication(args: PublishArgs) -> PublishPlan:
    """Find the run, its config and the checkpoint, and what is needed to publish them.

    Raises:
        UserError: One of them does not exist or cannot be read, a package is missing, or the
            folder of a dry run holds something else.
    """
    for package in ("huggingface_hub", "safetensors"):
        if find_spec(package) is None:
            raise MissingDependencyError(package, extra="hub", needed_for="run_publish.py")
    if args.has_onnx:
        require_onnx("run_publish.py --onnx")
    run, checkpoint, notes = select_checkpoint(args.run, args.checkpoint, runs_dir=args.runs_dir)
    config = load_config_json(run.config_path)
    check_seeds(args.seed, args.episodes)
    output = args.output or run.path / "publish"
    if args.is_dry_run:
        check_replaceable(output)
    deterministic = args.deterministic
    return PublishPlan(
        args=args,
        run=run,
        config=config,
        checkpoint=checkpoint,
        is_deterministic=config.eval_deterministic if deterministic is None else deterministic,
        output=output,
        notes=notes,
    )


def check_replaceable(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but what was published before.

    Raises:
        UserError: It names what else is there.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(f"'{folder}' is no folder: choose another one with --output")
    if not folder.exists():
        return
    names = sorted(path.name for path in folder.iterdir())
    others = [name for name in names if name not in PUBLISHED_NAMES]
    if not _is_own_card(folder / CARD):
        others += names
    if others:
        raise UserError(
            f"'{folder}' holds '{others[0]}', which this program did not publish: "
            "choose another folder with --output"
        )


def _is_own_card(path: Path) -> bool:
    """Say whether a file is a card that this program wrote."""
    try:
        with path.open(encoding="utf-8") as file:
            return [next(file, ""), next(file, "")] == ["---\n", f"library_name: {LIBRARY}\n"]
    except (OSError, UnicodeDecodeError):
        return False
