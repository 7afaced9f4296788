"""The lines around the table and the curves, as styled text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from rich.text import Text

from utils.loggers.number_text import format_duration
from utils.monitoring.health import Trouble
from utils.monitoring.run_view import RunView
from utils.monitoring.summary import facts_line, result_line
from utils.run.control import Request

STATUS_STYLES = {
    "running": "bold green",
    "completed": "bold cyan",
    "interrupted": "bold yellow",
    "failed": "bold red",
    "died": "bold red",
    "unknown": "dim",
}
_LEVEL_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def head_text(view: RunView, *, width: int) -> Text:
    """Return names and status, the bar, and the numbers below it."""
    status = str(view.status["status"])
    text = Text()
    text.append(view.config_id, "bold")
    text.append(f"  {status}", STATUS_STYLES.get(status, "bold"))
    if host := _other_host(view):
        text.append(f" on {host}", "dim")
    if view.is_running and not math.isnan(view.seconds_since_row):
        text.append(f"  last epoch {format_duration(view.seconds_since_row)} ago", "dim")
    text.append(f"  {view.folder.id}", "dim")
    fraction = view.progress().fraction
    percent = f" {fraction:6.1%}"
    bar = max(0, width - len(percent))
    done = int(fraction * bar)
    text.append("\n")
    text.append("━" * done, "green")
    text.append("─" * (bar - done), "dim")
    text.append(percent, "bold")
    text.append("\n")
    if result := result_line(view):
        text.append(f"{result}  ", "bold cyan")
    text.append(facts_line(view) if view.is_complete else f"reading: {facts_line(view)}")
    return text


def _other_host(view: RunView) -> str:
    import platform

    host = str(view.status.get("host", ""))
    return "" if host == platform.node() else host


def troubles_text(troubles: Sequence[Trouble], *, width: int, height: int) -> Text:
    """Return the worst troubles and what to try, as many as fit.

    Args:
        troubles: Worst first.
        width: Characters in a line.
        height: Most lines; the first trouble is shown whole in any case.
    """
    lines: list[tuple[str, str]] = []
    n_shown = 0
    for trouble in troubles:
        more = _trouble_lines(trouble, width)
        if lines and len(lines) + len(more) > height - (n_shown + 1 < len(troubles)):
            break
        lines += more
        n_shown += 1
    if n_shown < len(troubles):
        lines.append((f"  and {len(troubles) - n_shown} more", "dim"))
    text = Text()
    for index, (line, style) in enumerate(lines):
        text.append(("\n" if index else "") + line, style)
    return text


def _trouble_lines(trouble: Trouble, width: int) -> list[tuple[str, str]]:
    mark = "·" if trouble.level == "note" else "!"
    text = textwrap.wrap(f"{mark} {trouble.text}", width, subsequent_indent="  ")
    advice = f"try: {trouble.advice}" if trouble.key else trouble.advice
    indented = textwrap.wrap(
        advice, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
    return [
        *((line, _LEVEL_STYLES[trouble.level]) for line in text),
        *((line, "dim") for line in indented),
    ]


def log_text(view: RunView, *, height: int) -> Text:
    """Return the end of run.log."""
    text = Text("\n".join(list(view.log)[-height:]))
    return text if view.log else Text("run.log is empty", "dim")


def requests_text(
    requests: Sequence[tuple[Request, float, str]], view: RunView, *, now: float
) -> Text:
    """Return what was asked and what came of it, a line each.

    Args:
        requests: Request, when it was sent, and the answer ("" while there is none).
        view: The run.
        now: On the clock of the sending times.
    """
    text = Text()
    for index, (request, at, answer) in enumerate(requests):
        text.append("\n" if index else "")
        text.append(f"{request.kind}: ", "bold")
        if answer:
            text.append(f"✓ {answer}", "green")
            continue
        usual = view.seconds_per_epoch
        each = "" if math.isnan(usual) or usual < 1 else f" (one takes {format_duration(usual)})"
        waiting = f"asked {format_duration(now - at)} ago, done at the end of the epoch{each}"
        text.append(waiting if view.is_running else "not answered: nobody trains the run", "dim")
    return text
