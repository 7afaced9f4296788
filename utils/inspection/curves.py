"""The training curves of a run as the page draws them."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from utils.metrics_config import load_metrics_config
from utils.run import Run

_MOST_POINTS = 1500
_COUNTERS = ("epoch", "timesteps")
# A world model is as good as its worst loss, so all of them are looked at.
_OF_A_MODEL, _LOSSES = "train/world_model/divergence", "train/loss/"


def curves_value(run: Run) -> dict[str, Any]:
    """Read `metrics.csv` of a run.

    Returns:
        `curves`, each with `key`, `description`, `is_first` (people look at it first), `x`
        (timesteps) and `y`, only where there is a value; `marks`, one per checkpoint with `name`
        and `x`. A run that has not written a row yet has no curves.
    """
    columns = _read_columns(run.metrics_csv)
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
    return {"curves": curves, "marks": _marks(run)}


def _read_columns(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Return (timesteps, value) of every metric where it has a finite value."""
    if not path.is_file():
        return {}
    columns: dict[str, list[tuple[float, float]]] = {}
    # Bytes that a broken disk has left are no reason to show nothing of the rest.
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        for row in csv.DictReader(file):
            x = _number(row.get("timesteps"))
            if x is None:
                continue  # a row that is being written
            for key, text in row.items():
                value = _number(text) if key not in _COUNTERS else None
                if value is not None:
                    columns.setdefault(key, []).append((x, value))
    return {key: points for key, points in columns.items() if "/cnt/" not in key}


def _number(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _marks(run: Run) -> list[dict[str, Any]]:
    found = ((path.stem, run.timesteps_of(path)) for path in run.list_checkpoints())
    return [{"name": name, "x": timesteps} for name, timesteps in found if timesteps is not None]
