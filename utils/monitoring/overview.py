"""A short look at every run of a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.monitoring.health import RETURN_KEYS
from utils.run import Run, list_runs
from utils.storage import parse_records, read_json

_MAX_RUNS = 200
_TAIL_BYTES = 1 << 15


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run in the list."""

    run: Run
    config_id: str
    status: str
    fraction: float
    """Part of the budget that is spent, in [0, 1]."""
    mean_return: float | None
    """Latest mean raw return; None where no episode has ended."""


class RunsOverview:
    """The newest runs of a folder; a file that did not change is not read again."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self._seen: dict[Path, tuple[tuple[int, int], float, float | None]] = {}

    def read(self) -> list[RunLine]:
        """Return a line per run, newest first."""
        try:
            runs = list_runs(self.runs_dir)[:_MAX_RUNS]
        except OSError:  # a run was removed while it was listed
            return []
        return [self._line(run) for run in runs]

    def _line(self, run: Run) -> RunLine:
        path = run.metrics_jsonl
        try:
            stat = os.stat(path)
            mark = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            mark = (0, 0)
        known = self._seen.get(path)
        config = read_json(run.config_path) or {}
        if known is None or known[0] != mark:
            row = {k: v for k, v in _last_row(path).items() if isinstance(v, int | float)}
            value = next((row[key] for key in reversed(RETURN_KEYS) if key in row), None)
            known = (mark, float(row.get("timesteps", 0)), value)
            self._seen[path] = known
        budget = config.get("max_timesteps")
        fraction = min(1.0, known[1] / budget) if isinstance(budget, int) and budget > 0 else 0.0
        return RunLine(
            run=run,
            config_id=str(config.get("config_id", "?")),
            status=str(run.read_status()["status"]),
            fraction=fraction,
            mean_return=known[2],
        )


def newest_run(runs_dir: Path) -> Run | None:
    """Return the run that began last; None where there is none, or they cannot be listed now."""
    try:
        runs = list_runs(runs_dir)
    except OSError:  # a run was removed while it was listed
        return None
    return next((run for run in runs if read_json(run.config_path) is not None), None)


def _last_row(path: Path) -> dict[str, Any]:
    """Return the last whole row; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]
    except OSError:
        return {}
    return next(iter(parse_records(lines[-1:])), {})
