"""What one call of scripts/record_dataset.py will do, decided before anything heavy is imported."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from utils.config import Config, load_config_json
from utils.demonstrations.dataset_ids import check_dataset_id, datasets_root, has_dataset
from utils.demonstrations.record_cli import RecordArgs
from utils.errors import MissingDependencyError, UserError
from utils.run import Run
from utils.run.selection import select_checkpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordPlan:
    """A run that exists, its config, the checkpoint that plays, and the dataset's name."""

    args: RecordArgs
    run: Run
    config: Config
    checkpoint: Path
    dataset: str
    notes: tuple[str, ...]
    """What a person should know about the choices made, one line each."""

    @property
    def settings(self) -> dict[str, str | int | bool]:
        """What decides the recorded episodes, but for their number."""
        digest = hashlib.blake2b(self.checkpoint.read_bytes(), digest_size=16).hexdigest()
        return {
            "run": self.run.id,
            "config_id": self.config.config_id,
            "checkpoint": self.checkpoint.resolve().name,
            "digest": digest,
            "seed": self.args.seed,
            "stochastic": self.args.is_stochastic,
        }


def plan_recording(args: RecordArgs) -> RecordPlan:
    """Find the run, its config and the checkpoint, and choose the name.

    Raises:
        UserError: One of them does not exist or cannot be read, the dataset exists already, its
            name has another form, or Minari is not installed.
    """
    for package in ("minari", "h5py"):
        if find_spec(package) is None:
            raise MissingDependencyError(package, extra="minari", needed_for="a recorded dataset")
    run, checkpoint, notes = select_checkpoint(args.run, args.checkpoint, runs_dir=args.runs_dir)
    config = load_config_json(run.config_path)
    dataset = args.dataset or _default_name(config, run)
    check_dataset_id(dataset, name="--dataset")
    if has_dataset(dataset):
        raise UserError(
            f"--dataset {dataset}: there is one in {datasets_root()} already; choose another name, "
            f"or remove it first:  minari delete {dataset}"
        )
    return RecordPlan(
        args=args, run=run, config=config, checkpoint=checkpoint, dataset=dataset, notes=notes
    )


def _default_name(config: Config, run: Run) -> str:
    """Return `<env>/<algo>-<run>-v0` in letters that Minari takes."""
    env = re.sub(r"[^-\w]+", "-", config.env_id)
    return f"{env}/{config.algo_id}-{re.sub(r'[^-_a-zA-Z0-9]+', '-', run.id)}-v0"
