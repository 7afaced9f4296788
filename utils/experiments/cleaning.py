"""Which runs give up their checkpoints and films, and what stays of them."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.errors import ConfigError
from utils.experiments.records import Record, is_ours
from utils.run import Run, read_labels
from utils.run.labels import KEEP_TAG
from utils.run.lock import RunLock
from utils.storage import storage_errors

REMOVED = ("checkpoints", "debug", "inspection", "tensorboard", "videos")
"""What goes of a cleaned run. All else stays: what compares it, draws it and trains it again, what
somebody has exported or published, and files of others."""


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What becomes of one run."""

    record: Record
    reason: str
    """Why it is kept whole; "" where it is cleaned."""
    paths: tuple[Path, ...] = ()
    """What is removed of it."""
    n_bytes: int = 0
    """How much that is."""

    @property
    def ends_resuming(self) -> bool:
        """Whether the run was stopped before its end and is cleaned of what it could go on from."""
        return (
            any(path.name == "checkpoints" for path in self.paths)
            and self.record.columns["status"] != "completed"
            and self.record.run.has_checkpoint()
        )


def plan_cleaning(
    records: Sequence[Record], *, keep_best: int, keep_recent: int, metric: str
) -> list[Cleaning]:
    """Decide what becomes of each run.

    Args:
        records: Newest first.
        keep_best: So many runs of each config with the highest value of the metric stay whole.
        keep_recent: So many of the newest of all of them, too.
        metric: Key of the value.
    """
    best = _best(records, keep_best, metric)
    plans = []
    for index, record in enumerate(records):
        reason = _why_kept(record, is_recent=index < keep_recent, is_best=record in best)
        if reason:
            plans.append(Cleaning(record, reason))
            continue
        paths = removable(record.run.path)
        plans.append(Cleaning(record, "", tuple(paths), sum(map(_size, paths))))
    return plans


def clean_run(run: Run, paths: Sequence[Path]) -> None:
    """Remove what was planned, unless the run is being trained or was tagged by now, or is none.

    Raises:
        ConfigError: It is.
        StorageError: Something cannot be removed.
    """
    if not is_ours(run):
        raise ConfigError(f"'{run.path}' is no run of this program")
    if KEEP_TAG in read_labels(run.path).tags:
        raise ConfigError(f"run '{run.id}' was tagged '{KEEP_TAG}' meanwhile")
    with RunLock(run.path):
        if run.read_status()["status"] == "running":
            raise ConfigError(f"run '{run.id}' is being trained")
        for path in paths:
            with storage_errors(path):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def removable(folder: Path) -> list[Path]:
    """Return what is removed from a run's folder when it is cleaned."""
    return [folder / name for name in REMOVED if (folder / name).exists()]


def _best(records: Sequence[Record], n: int, metric: str) -> list[Record]:
    by_config: dict[str, list[Record]] = {}
    for record in records:
        value = record.value(metric)
        if isinstance(value, int | float) and math.isfinite(value):
            by_config.setdefault(str(record.columns["config"]), []).append(record)
    return [
        record
        for of_config in by_config.values()
        for record in sorted(of_config, key=lambda r: -r.value(metric))[:n]
    ]


def _why_kept(record: Record, *, is_recent: bool, is_best: bool) -> str:
    if not is_ours(record.run):
        return "no run of this program"
    if record.columns["status"] == "running":
        return "running"
    if KEEP_TAG in record.columns["tags"]:
        return f"tagged {KEEP_TAG}"
    if is_best:
        return "among the best"
    if is_recent:
        return "among the newest"
    return "" if removable(record.run.path) else "cleaned already"


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(path)
        for name in names
    )
