"""The console table: pure functions from what is known to lines of text."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence

from utils.loggers.number_text import format_duration, format_speed, format_value
from utils.loggers.progress import Progress
from utils.loggers.sparkline import sparkline
from utils.loggers.terminal import Palette, strip_colours, visible_length
from utils.loggers.tracks import Track
from utils.metrics.monitor import Alert
from utils.metrics_config import MetricsConfig

_GAP = 2
_MIN_CARD = 37
_MAX_CARD = 58
_MAX_COLUMNS = 3
_VALUE_WIDTH = 9
_MAX_NAME_WIDTH = 18
_MAX_SPARK = 24
_ALERT_SHARE = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """How the table is drawn."""

    palette: Palette
    is_ascii: bool
    columns: int
    """Width of the terminal."""
    rows: int
    """Height of the terminal."""


@dataclasses.dataclass(frozen=True, slots=True)
class Title:
    """What the header says besides the progress."""

    config_id: str
    """`<env>:<variant>`."""
    run_id: str
    """Name of the run's folder."""
    solved_threshold: float | None = None
    """Mean return at which the task counts as solved; None where it is not known."""
    stop_threshold: float | None = None
    """Mean return at which the run stops early; None where it does not."""


def render_table(
    *,
    title: Title,
    progress: Progress,
    groups: Mapping[str, Sequence[Track]],
    alerts: Sequence[Alert],
    config: MetricsConfig,
    look: Look,
) -> list[str]:
    """Draw header, metrics and alerts within the terminal.

    Args:
        title: Names of config and run.
        progress: Where the run stands.
        groups: The metrics by group, most important first. Groups that do not fit are counted
            in a last line.
        alerts: The alerts to show, newest last.
        config: Headings of the groups.
        look: Colours, characters and size.

    Returns:
        Lines, none wider than the terminal, together one line lower than it.
    """
    head = render_header(title, progress, look)
    foot = _newest_that_fit(alerts, look)
    height = max(4, look.rows - len(head) - len(foot) - 2)
    alarmed = frozenset(alert.key for alert in alerts)
    body = _render_cards(groups, alarmed, progress.epoch, config, look, height)
    lines = [*head, *body, *foot][: max(1, look.rows - 1)]
    return [_clip(line, look) for line in lines]


def render_header(title: Title, progress: Progress, look: Look) -> list[str]:
    """Draw the names, the progress bar and the speed."""
    paint = look.palette.paint
    width = look.columns - 1
    dot = " | " if look.is_ascii else " · "
    percent = f"{100.0 * progress.fraction:5.1f}%"
    steps = f"{progress.timesteps:,} / {progress.max_timesteps:,} steps"
    bar = _bar(progress.fraction, max(0, width - len(percent) - len(steps) - 4), look)
    speed = progress.steps_per_second
    facts = [
        f"epoch {progress.epoch:,}",
        f"{format_speed(speed)} steps/s" if speed == speed else "measuring speed",
        f"elapsed {format_duration(progress.elapsed_seconds)}",
        f"left {format_duration(progress.seconds_left)}",
    ]
    if title.solved_threshold is not None:
        facts.append(f"solved at {title.solved_threshold:g}")
    if title.stop_threshold not in (None, title.solved_threshold):
        facts.append(f"stops at {title.stop_threshold:g}")
    names = _cut(f"{title.config_id}   {title.run_id}", width - 1, look)
    cut = len(title.config_id)
    return [
        " " + paint(names[:cut], "bold") + paint(names[cut:], "dim"),
        f" {bar} {paint(percent, 'bold')}  {steps}",
        " " + _cut(dot.join(facts), width - 1, look),
        "",
    ]


def render_alerts(alerts: Sequence[Alert], look: Look) -> list[str]:
    """Draw each alert with what it means and what to try, wrapped to the terminal."""
    lines = []
    for alert in alerts:
        value = format_value(alert.value, precision=4)
        text = f"{alert.key} {value} ({alert.bound}, epoch {alert.epoch}): {alert.message}"
        for i, part in enumerate(textwrap.wrap(text, look.columns - 5)):
            lines.append(look.palette.paint(f" {'!' if i == 0 else ' '} {part}", "yellow"))
        advice = f"try: {'; '.join(alert.fixes)}" if alert.fixes else ""
        lines += [
            look.palette.paint(f"   {part}", "dim")
            for part in textwrap.wrap(advice, look.columns - 5)
        ]
    return ["", *lines] if lines else []


def _render_cards(
    groups: Mapping[str, Sequence[Track]],
    alarmed: frozenset[str],
    epoch: int,
    config: MetricsConfig,
    look: Look,
    height: int,
) -> list[str]:
    """Place the groups side by side, each into the column that is lowest."""
    usable = look.columns - 2
    n_columns = max(1, min(_MAX_COLUMNS, (usable + _GAP) // (_MIN_CARD + _GAP)))
    width = min(_MAX_CARD, (usable - _GAP * (n_columns - 1)) // n_columns)
    longest = max((len(track.name) for tracks in groups.values() for track in tracks), default=0)
    name_width = min(longest, _MAX_NAME_WIDTH, width - _VALUE_WIDTH - 5)
    columns: list[list[str]] = [[] for _ in range(n_columns)]
    n_hidden = 0
    for group, tracks in groups.items():
        lowest = min(columns, key=len)
        separator = [""] if lowest else []
        if len(lowest) + len(separator) + len(tracks) + 1 > height:
            n_hidden += len(tracks)
            continue
        names = frozenset(key.rpartition("/")[2] for key in alarmed if key.startswith(group + "/"))
        heading = _heading(config.title(group), group, tracks, epoch, width, look)
        lowest += [*separator, heading, *(_row(t, names, name_width, width, look) for t in tracks)]
    lines = _side_by_side(columns, width)
    if n_hidden:
        more = f"{'...' if look.is_ascii else '…'} {n_hidden} more in metrics.csv"
        lines.append(" " + look.palette.paint(more, "dim"))
    return lines


def _heading(
    title: str, group: str, tracks: Sequence[Track], epoch: int, width: int, look: Look
) -> str:
    updated = max(track.epoch for track in tracks)
    note = group if updated == epoch else f"{group} @ epoch {updated:,}"
    note = _cut(note, max(0, width - len(title) - 2), look)
    return look.palette.paint(title, "bold_cyan") + "  " + look.palette.paint(note, "dim")


def _row(track: Track, alarmed: frozenset[str], name_width: int, width: int, look: Look) -> str:
    paint = look.palette.paint
    spark_width = min(_MAX_SPARK, width - name_width - _VALUE_WIDTH - 5)
    is_alarmed = track.name in alarmed
    mark, mark_style = _mark(track, is_alarmed, look)
    name = _cut(track.name, name_width, look).ljust(name_width)
    value = format_value(track.value, precision=track.spec.precision).rjust(_VALUE_WIDTH)
    curve = sparkline(track.history, width=spark_width, is_ascii=look.is_ascii)
    name_style = "bold" if track.spec.highlight else None
    value_style = mark_style if is_alarmed or track.is_new_best else name_style
    return (
        f" {paint(name, name_style)} {paint(value, value_style)} "
        f"{paint(mark, mark_style)} {paint(curve, 'cyan' if track.spec.highlight else 'dim')}"
    )


def _mark(track: Track, is_alarmed: bool, look: Look) -> tuple[str, str | None]:
    if track.is_new_best:
        return ("*" if look.is_ascii else "★"), "bold_green"
    if is_alarmed:
        return "!", "yellow"
    up, down = ("^", "v") if look.is_ascii else ("▲", "▼")
    if track.trend == 0:
        return " ", None
    went_up = (track.trend > 0) == (track.spec.goal == "up")
    return (up if went_up else down), ("green" if track.trend > 0 else "red")


def _side_by_side(columns: Sequence[Sequence[str]], width: int) -> list[str]:
    lines = []
    for i in range(max(map(len, columns))):
        cells = [column[i] if i < len(column) else "" for column in columns]
        padded = [cell + " " * (width - visible_length(cell)) for cell in cells]
        lines.append((" " + (" " * _GAP).join(padded)).rstrip())
    return lines


def _bar(fraction: float, width: int, look: Look) -> str:
    done = int(fraction * width)
    full, empty = ("#", "-") if look.is_ascii else ("━", "─")
    return look.palette.paint(full * done, "green") + look.palette.paint(
        empty * (width - done), "dim"
    )


def _newest_that_fit(alerts: Sequence[Alert], look: Look) -> list[str]:
    """Draw alerts in at most a third of the terminal; the oldest are left out first."""
    for start in range(len(alerts)):
        lines = render_alerts(alerts[start:], look)
        if len(lines) * _ALERT_SHARE <= look.rows or start == len(alerts) - 1:
            return lines
    return []


def _clip(line: str, look: Look) -> str:
    """Keep a line within the terminal: one that wraps would tear the table at each refresh."""
    if visible_length(line) < look.columns:
        return line
    return _cut(strip_colours(line), look.columns - 1, look)


def _cut(text: str, width: int, look: Look) -> str:
    if len(text) <= width:
        return text
    end = "~" if look.is_ascii else "…"
    return text[: max(0, width - 1)] + end if width > 0 else ""
