"""What looks wrong with a run, from its numbers and from around it."""

from __future__ import annotations

import math
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from utils.loggers.number_text import format_duration, format_value
from utils.monitoring.run_view import RunView

Level = Literal["error", "warning", "note"]

RETURN_KEYS = ("val/roll/ep_rew_mean", "train/roll/ep_rew_mean")
_ORDER = {"error": 0, "warning": 1, "note": 2}
_ALERT_EPOCHS = 50
_MIN_FREE_BYTES = 500 * 1000**2
_CHECKPOINTS_FREE = 5
_STALL_SECONDS = 60.0
_STALL_FACTOR = 10.0
_FIRST_EPOCH_SECONDS = 300.0
_FLAT_SHARE = 0.3
_MIN_VALUES = 10


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a person should know."""

    level: Level
    text: str
    key: str = ""
    """The metric that it is about, if it is about one."""
    advice: str = ""
    """What to try."""


def find_troubles(view: RunView, *, free_bytes: int | None = None) -> list[Trouble]:
    """Return what looks wrong now, worst first.

    The judgement of the metrics is the training's own, from `alerts.jsonl`; what a process cannot
    tell of itself is added: that it died or hangs, that the disk is nearly full, that nothing
    has become better for long.

    Args:
        view: The run, refreshed.
        free_bytes: Space left for the run's folder; measured if None.
    """
    found = [
        *_process_troubles(view),
        *_stalled(view),
        *_config(view),
        *_disk(view, free_bytes),
        *_not_finite(view),
        *_alerts(view),
        *_flat_return(view),
    ]
    return sorted(found, key=lambda trouble: _ORDER[trouble.level])


def _process_troubles(view: RunView) -> list[Trouble]:
    status = view.status["status"]
    if status == "died":
        pid, silent = view.status.get("pid"), view.status.get("silent_seconds")
        text = f"the process that trained it (pid {pid}) is gone without a word"
        if silent is not None:
            since = format_duration(silent)
            text = f"{view.status.get('host')}, which trained it, gives no sign of life for {since}"
        return [
            Trouble(
                "error",
                text,
                advice=_way_back(view),
            )
        ]
    if status == "failed":
        return [Trouble("error", f"failed: {view.status.get('reason', 'no reason is known')}")]
    if status == "interrupted":
        reason = str(view.status.get("reason", "stopped"))
        return [Trouble("note", reason, advice=_way_back(view))]
    return []


def _config(view: RunView) -> list[Trouble]:
    if view.config:
        return []
    return [Trouble("error", "config.json is missing or damaged: its budget is not known")]


def _way_back(view: RunView) -> str:
    saved = view.folder.saved_timesteps()
    if saved is None:
        return "nothing was saved"
    run = view.folder
    name = run.id if str(run.path.parent) == "runs" else shlex.quote(str(run.path))
    return f"saved at {saved:,} timesteps; go on with: python train.py --resume {name}"


def _stalled(view: RunView) -> list[Trouble]:
    since, usual = view.seconds_since_row, view.seconds_per_epoch
    if not view.is_running or math.isnan(since):
        return []
    patience = _FIRST_EPOCH_SECONDS
    if not math.isnan(usual):
        patience = max(_STALL_SECONDS, _STALL_FACTOR * usual)
    if since < patience:
        return []
    before = "" if math.isnan(usual) else f"; one took {format_duration(usual)} before"
    return [Trouble("warning", f"no epoch has ended for {format_duration(since)}{before}")]


def _disk(view: RunView, free_bytes: int | None) -> list[Trouble]:
    if not view.is_running:
        return []
    if free_bytes is None:
        try:
            free_bytes = shutil.disk_usage(view.folder.path).free
        except OSError:
            return []
    sizes = []
    for path in view.folder.list_checkpoints():
        try:
            sizes.append(path.stat().st_size)
        except OSError:  # removed meanwhile
            continue
    checkpoint = max(sizes, default=0)
    if free_bytes >= max(_MIN_FREE_BYTES, _CHECKPOINTS_FREE * checkpoint):
        return []
    each = f"; a checkpoint takes {_megabytes(checkpoint)}" if checkpoint else ""
    return [Trouble("warning", f"the disk is nearly full: {_megabytes(free_bytes)} left{each}")]


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1000**2:,.1f} MB" if n_bytes < 10**7 else f"{n_bytes / 1000**2:,.0f} MB"


def _not_finite(view: RunView) -> list[Trouble]:
    broken = [key for key, series in view.series.items() if not math.isfinite(series.latest)]
    if not broken:
        return []
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    value = view.series[broken[0]].latest
    return [Trouble("error", f"{broken[0]} is {value}{more}: training diverged", key=broken[0])]


def _alerts(view: RunView) -> list[Trouble]:
    """Return the training's own alerts of the latest epochs, one per metric and meaning."""
    latest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for alert in view.alerts:
        key = (str(alert.get("key")), str(alert.get("message")))
        latest.pop(key, None)
        latest[key] = alert
    return [
        _as_trouble(alert)
        for alert in reversed(latest.values())
        if alert.get("bound") != "not a finite number"
        and isinstance(epoch := alert.get("epoch"), int)
        and view.epoch - epoch <= _ALERT_EPOCHS
    ]


def _as_trouble(alert: Mapping[str, Any]) -> Trouble:
    key = str(alert.get("key"))
    value = alert.get("value")
    number = format_value(float(value), precision=4) if isinstance(value, int | float) else value
    text = f"{key} {number} ({alert.get('bound')}, epoch {alert.get('epoch')})"
    fixes = alert.get("fixes")
    advice = "; ".join(map(str, fixes)) if isinstance(fixes, list) else ""
    return Trouble("warning", f"{text}: {alert.get('message')}", key=key, advice=advice)


def _flat_return(view: RunView) -> list[Trouble]:
    """Say when the return has not become better for a large part of the run."""
    key = next((key for key in RETURN_KEYS if key in view.series), None)
    if not view.is_running or key is None:
        return []
    series = view.series[key]
    threshold = view.config.get("reward_threshold")
    is_there = isinstance(threshold, int | float) and series.highest >= threshold
    if series.n < _MIN_VALUES or is_there or not series.xs:
        return []
    best = max(range(len(series.ys)), key=lambda i: (series.ys[i], -i))
    flat = view.timesteps - series.xs[best]
    if flat < _FLAT_SHARE * view.max_timesteps:
        return []
    share = flat / view.max_timesteps
    return [
        Trouble(
            "note",
            f"no better {key} since {series.xs[best]:,.0f} timesteps ({share:.0%} of the run)",
        )
    ]
