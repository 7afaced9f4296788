"""The learning curves of a comparison: a band for each method, task by task or put together."""

from __future__ import annotations

from utils.errors import UserError
from utils.experiments.curves import Band, build_band, choose_curve_key, read_run_curve
from utils.experiments.methods import Comparison, Method
from utils.experiments.records import TEST_KEY
from utils.reports.curves import Curve


def bands_by_task(comparison: Comparison, key: str) -> dict[str, dict[str, Band]]:
    """Return for each task the bands by method; what has no curve is left out.

    Raises:
        UserError: Nothing has a curve of this metric.
    """
    panels: dict[str, dict[str, Band]] = {}
    for task in comparison.tasks:
        for method in comparison.methods:
            band = build_band([_curves(method, task, key)])
            if band is not None:
                panels.setdefault(task, {})[method.name] = band
    if not panels:
        raise UserError(f"none of these runs has a curve of '{key}'")
    return panels


def overall_bands(comparison: Comparison, key: str) -> dict[str, Band]:
    """Return the bands by method over all tasks, of normalised scores if there are several."""
    scales = [comparison.scales[task] for task in comparison.tasks] if comparison.scales else []
    found = {}
    for method in comparison.methods:
        band = build_band([_curves(method, task, key) for task in comparison.tasks], scales)
        if band is not None:
            found[method.name] = band
    return found


def curve_key(comparison: Comparison) -> str:
    """Return the metric whose curves are shown where nobody asks for another."""
    runs = [r.run for m in comparison.methods for runs in m.runs.values() for r in runs]
    return choose_curve_key(runs)


def curve_label(key: str) -> str:
    """Say in words what a metric is."""
    return {
        TEST_KEY: "test return of the best policy",
        "val/roll/ep_rew_mean": "return in evaluation",
        "train/roll/ep_rew_mean": "return in training",
    }.get(key, key)


def _curves(method: Method, task: str, key: str) -> list[Curve]:
    found = [read_run_curve(record.run, key) for record in method.runs[task]]
    return [curve for curve in found if curve is not None]
