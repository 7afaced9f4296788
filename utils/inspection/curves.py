"""The training curves of a run as the page draws them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.metrics.axis import Axis, choose_axis
from utils.metrics_config import load_metrics_config
from utils.run import Run

_MOST_POINTS = 1500
_COUNTERS = ("epoch", "timesteps")
# A world model is as good as its worst loss, so all of them are looked at.
_OF_A_MODEL, _LOSSES = "train/world_model/divergence", "train/loss/"


def curves_value(run: Run) -> dict[str, Any]:
    """Read `metrics.csv` of a run.

    Returns:
        `axis`, what the curves are over (`timesteps`, unless those stand still); `curves`, each
        with `key`, `description`, `is_first` (people look at it first), `x` and `y`, only where
        there is a value; `marks`, one per checkpoint with `name` and `x`. A run that has not
        written a row yet has no curves.
    """
    rows = _read_rows(run.metrics_csv)
    axis = choose_axis(rows)
    columns = _columns(rows, axis)
    config = load_metrics_config()
    has_model = _OF_A_MODEL in columns
    curves = []
    for key in config.sort_keys(list(columns)):
        spec, points = config.metric(key), columns[key]
        thinned = points[:: -(-len(points) // _MOST_POINTS)]
        curves.append(
            {
                "key": key,
                "description": spec.description,
                "is_first": spec.highlight or (has_model and key.startswith(_LOSSES)),
                "x": [x for x, _ in thinned],
                "y": [y for _, y in thinned],
            }
        )
    curves.sort(key=lambda curve: not curve["is_first"])
    return {"axis": axis.name, "curves": curves, "marks": _marks(run, axis)}


def _read_rows(path: Path) -> list[dict[str, float]]:
    """Return the finite values of every row, by their keys."""
    if not path.is_file():
        return []
    # Bytes that a broken disk has left are no reason to show nothing of the rest.
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = [
            {key: value for key, text in row.items() if (value := _number(text)) is not None}
            for row in csv.DictReader(file)
        ]
    return [row for row in rows if row.keys() >= {*_COUNTERS}]  # not one that is being written


def _columns(
    rows: Sequence[Mapping[str, float]], axis: Axis
) -> dict[str, list[tuple[float, float]]]:
    """Return (x, value) of every metric where it has a finite value."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for key, value in row.items():
            if key not in _COUNTERS and "/cnt/" not in key:
                columns.setdefault(key, []).append((row[axis.key], value))
    return columns


def _number(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _marks(run: Run, axis: Axis) -> list[dict[str, Any]]:
    found = ((path.stem, run.counter_of(path, axis.counter)) for path in run.list_checkpoints())
    return [{"name": name, "x": x} for name, x in found if x is not None]
