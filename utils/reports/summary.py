"""One value for each thing that runs are compared by, from the files that a run left behind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from utils.loggers.jsonl import read_jsonl
from utils.run import Run
from utils.storage import read_json

EVALUATION_KEY = "val/roll/ep_rew_mean"


SUMMARY_GOALS = {
    "val/best/ep_rew_mean": "up",
    "val/best/timesteps": "down",
    "val/mean/ep_rew_mean": "up",
    "val/solved/timesteps": "down",
    "test/best/ep_rew_mean": "up",
    "test/best/ep_rew_std": "down",
    "test/last/ep_rew_mean": "up",
    "test/last/ep_rew_std": "down",
    "train/total/timesteps": "down",
    "train/total/seconds": "down",
    "train/total/alerts": "down",
}
"""The numbers of a summary, and which way is better."""


def summarize_run(
    run: Run, *, solved_threshold: float | None = None
) -> dict[str, float | int | str]:
    """Return what a finished run came to; what is not known is absent.

    Returns:
        `val/best/ep_rew_mean` and `val/best/timesteps`: the best evaluation (the earliest of
        equals) and where it was. `val/solved/timesteps`: where an evaluation first reached
        `solved_threshold`. `val/mean/ep_rew_mean`: mean over all evaluations, which is high where
        learning is both fast and steady. `test/<best|last>/ep_rew_mean` and `ep_rew_std`: the
        final test. `train/total/timesteps`, `seconds` and `alerts`. `stop_reason`.

    Args:
        run: Its metrics, results and alerts are read.
        solved_threshold: Mean return at which the task counts as solved; None where it is not
            known.

    Raises:
        StorageError: A file is damaged.
    """
    rows = read_jsonl(run.metrics_jsonl)
    summary: dict[str, float | int | str] = {}
    if rows:
        summary["train/total/timesteps"] = rows[-1]["timesteps"]
        summary["train/total/seconds"] = rows[-1].get("train/time/elapsed_seconds", 0.0)
    summary["train/total/alerts"] = len(read_jsonl(run.alerts_jsonl))
    evaluations = [row for row in rows if math.isfinite(row.get(EVALUATION_KEY, math.nan))]
    if evaluations:
        summary |= _summarize_evaluations(evaluations, solved_threshold)
    results = read_json(run.results_path) or {}
    if not rows and isinstance(results.get("timesteps"), int):
        summary["train/total/timesteps"] = results["timesteps"]
    for name, result in results.get("test", {}).items():
        for key in ("mean", "std"):
            if result.get(key) is not None:
                summary[f"test/{name}/ep_rew_{key}"] = result[key]
    if "stop_reason" in results:
        summary["stop_reason"] = results["stop_reason"]
    return summary


def _summarize_evaluations(
    evaluations: Sequence[Mapping[str, Any]], solved_threshold: float | None
) -> dict[str, float | int | str]:
    best = max(evaluations, key=lambda row: row[EVALUATION_KEY])
    values = [row[EVALUATION_KEY] for row in evaluations]
    summary: dict[str, float | int | str] = {
        "val/best/ep_rew_mean": best[EVALUATION_KEY],
        "val/best/timesteps": best["timesteps"],
        "val/mean/ep_rew_mean": sum(values) / len(values),
    }
    if solved_threshold is not None:
        solved = (row for row in evaluations if row[EVALUATION_KEY] >= solved_threshold)
        if (first := next(solved, None)) is not None:
            summary["val/solved/timesteps"] = first["timesteps"]
    return summary
