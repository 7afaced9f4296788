"""A run in a page of plain text."""

from __future__ import annotations

import textwrap

from utils.loggers.number_text import format_duration, format_value
from utils.loggers.progress import Progress
from utils.loggers.sparkline import sparkline
from utils.monitoring.health import Trouble
from utils.monitoring.run_view import RunView

_SPARK = 20
_BAR = 30


def summarize_run(
    view: RunView, troubles: list[Trouble], *, width: int = 100, is_ascii: bool = False
) -> str:
    """Say how a run stands: progress, what looks wrong, every metric.

    Args:
        view: The run, refreshed.
        troubles: Of `find_troubles`.
        width: Longest line.
        is_ascii: Draw with ASCII characters only.
    """
    lines = [
        f"{view.config_id}  {view.folder.path}",
        f"{view.status['status']}  {progress_line(view, is_ascii=is_ascii)}",
        *([result] if (result := result_line(view)) else []),
    ]
    for trouble in troubles:
        text = f"{trouble.level}: {trouble.text}"
        if trouble.advice:
            text += f"; {'try: ' if trouble.key else ''}{trouble.advice}"
        lines += textwrap.wrap(text, width, subsequent_indent="  ")
    return "\n".join([*lines, "", *_table(view, width, is_ascii)])


def progress_line(view: RunView, *, is_ascii: bool = False, bar_width: int = _BAR) -> str:
    """Return bar, steps, epoch, speed and time left in one line."""
    progress = view.progress()
    full, empty = ("#", "-") if is_ascii else ("━", "─")
    done = int(progress.fraction * bar_width)
    bar = full * done + empty * (bar_width - done)
    return f"{bar} {progress.fraction:.1%}  {facts_line(view)}"


def facts_line(view: RunView) -> str:
    """Return steps, epoch, speed and times."""
    progress = view.progress()
    facts = [
        progress.amount_text(of=" / "),
        f"epoch {progress.epoch:,}",
        progress.speed_text(),
        f"elapsed {format_duration(progress.elapsed_seconds)}" if progress.epoch else "",
        _left(view, progress),
    ]
    return "  ".join(fact for fact in facts if fact)


def _left(view: RunView, progress: Progress) -> str:
    if not view.is_running:
        return ""
    if progress.fraction == 1.0:
        return "trained, being tested"
    return progress.left_text()


def result_line(view: RunView) -> str:
    """Return the result of the final test; empty while there is none."""
    test = (view.results or {}).get("test")
    if view.is_running or not isinstance(test, dict):
        return ""
    parts = [
        f"{name} {format_value(entry['mean'], precision=2)}"
        for name, entry in test.items()
        if isinstance(entry, dict) and isinstance(entry.get("mean"), int | float)
    ]
    return f"final test: {', '.join(parts)}" if parts else ""


def _table(view: RunView, width: int, is_ascii: bool) -> list[str]:
    keys = view.ordered_keys()
    if not keys:
        return ["no epoch has ended yet"]
    name_width = max(len("metric"), *map(len, keys))
    spark_width = max(0, min(_SPARK, width - name_width - 26))
    lines = [f"{'metric':<{name_width}}  {'latest':>10}  {'best':>10}  trend"]
    for key in keys:
        spec, series = view.spec.metric(key), view.series[key]
        best = series.best(spec.goal)
        cells = [
            f"{key:<{name_width}}",
            f"{format_value(series.latest, precision=spec.precision):>10}",
            f"{'' if best is None else format_value(best, precision=spec.precision):>10}",
            sparkline(series.ys, width=spark_width, is_ascii=is_ascii),
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
