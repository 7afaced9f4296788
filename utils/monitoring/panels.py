"""The table of metrics, the curves, and the list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual.widgets import DataTable, Static

from utils.loggers.number_text import format_value
from utils.loggers.sparkline import sparkline
from utils.monitoring.charts import chart_lines
from utils.monitoring.overview import RunLine
from utils.monitoring.run_view import RunView
from utils.monitoring.texts import STATUS_STYLES
from utils.run import Run

COLUMNS = ("metric", "latest", "best", "trend")
_NAME, _MIN_NAME, _NUMBER = 28, 12, 10
_MIN_SPARK = 6
_PADDING = 2
_MIN_CHART = 6
_RUN, _MIN_ID = 20, 15
_STYLES = ("cyan", "green", "magenta", "yellow", "blue")


def column_widths(width: int) -> dict[str, int]:
    """Return the columns of the table of metrics that fit, and the width of each.

    In a narrow terminal the course goes first, then the best value, then ends of names: the latest
    value stays.

    Args:
        width: Of the table in characters.
    """
    room = width - _NAME - _NUMBER - 2 * _PADDING - 1
    widths = {"metric": max(_MIN_NAME, _NAME + min(0, room)), "latest": _NUMBER}
    if room >= _NUMBER + _PADDING:
        widths["best"] = _NUMBER
        room -= _NUMBER + _PADDING
        if room >= _MIN_SPARK + _PADDING:
            widths["trend"] = room - _PADDING
    return widths


class MetricsTable(DataTable[Text]):
    """A row per metric: name, latest and best value, recent course."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cursor_type="row", zebra_stripes=False, **options)
        self.pinned: list[str] = []
        """Keys whose curves stay on the screen."""
        self._shown: dict[str, tuple[str, ...]] = {}
        self._widths: dict[str, int] = {}

    @property
    def current_key(self) -> str:
        """The metric under the cursor; "" where there is none."""
        keys = list(self._shown)
        return keys[self.cursor_row] if self.cursor_row < len(keys) else ""

    def toggle_pin(self) -> None:
        """Pin the metric under the cursor, or let it go."""
        key = self.current_key
        if key in self.pinned:
            self.pinned.remove(key)
        elif key:
            self.pinned.append(key)

    def forget(self) -> None:
        """Begin anew, for another run; what is pinned stays pinned."""
        self.clear()
        self._shown.clear()

    def show(self, view: RunView, *, alarmed: set[str]) -> None:
        """Bring the rows up to date; cells that are the same are left alone."""
        widths = column_widths(self.size.width)
        keys = view.ordered_keys()
        if widths != self._widths or keys != list(self._shown):
            self._rebuild(keys, widths)
        for key in keys:
            cells = self._cells(view, key, is_alarmed=key in alarmed)
            marks = tuple(f"{cell.plain}{cell.style}" for cell in cells)
            if marks == self._shown[key]:
                continue
            self._shown[key] = marks
            for column, cell in zip(COLUMNS, cells, strict=True):
                if column in widths:
                    self.update_cell(key, column, cell)

    def _rebuild(self, keys: Sequence[str], widths: dict[str, int]) -> None:
        row, self._widths = self.cursor_row, widths
        self.clear(columns=True)
        for name, width in widths.items():
            label = name if name in ("metric", "trend") else f"{name:>{_NUMBER}}"
            self.add_column(label, width=width, key=name)
        self._shown = {}
        for key in keys:
            self.add_row(Text(key), *(Text() for _ in list(widths)[1:]), key=key)
            self._shown[key] = ()
        self.move_cursor(row=row, animate=False)

    def _cells(self, view: RunView, key: str, *, is_alarmed: bool) -> tuple[Text, ...]:
        spec, series = view.spec.metric(key), view.series[key]
        best = series.best(spec.goal)
        style = "bold yellow" if is_alarmed else "bold" if spec.highlight else ""
        mark = "●" if key in self.pinned else "!" if is_alarmed else " "
        numbers = [series.latest, best]
        texts = ["" if n is None else format_value(n, precision=spec.precision) for n in numbers]
        curve = sparkline(series.ys, width=self._widths.get("trend", _MIN_SPARK))
        return (
            Text(_shorten(f"{mark}{key}", self._widths["metric"]), style),
            Text(f"{texts[0]:>{_NUMBER}}", style),
            Text(f"{texts[1]:>{_NUMBER}}", "dim"),
            Text(curve, "cyan" if spec.highlight else "dim"),
        )


class CurvesPanel(Static):
    """The curves of some metrics, one below the other, as many as fit."""

    def show(self, view: RunView, keys: Sequence[str]) -> None:
        """Draw the curves of `keys`, the first of them at the top."""
        width, height = self.size.width, self.size.height
        if width < 1 or height < 2:
            return
        if not keys:
            self.update(Text("no epoch has ended yet", "dim"))
            return
        keys = keys[: max(1, height // _MIN_CHART)]
        text = Text()
        for index, key in enumerate(keys):
            first = height * index // len(keys)
            n_lines = height * (index + 1) // len(keys) - first
            self._add_chart(text, view, key, index, n_lines)
        self.update(text, layout=False)

    def _add_chart(self, text: Text, view: RunView, key: str, index: int, n_lines: int) -> None:
        spec, series = view.spec.metric(key), view.series[key]
        is_apart = index > 0 and n_lines > _MIN_CHART
        text.append("\n" * (1 + is_apart) if index else "")
        text.append(key, "bold")
        text.append(f"  {format_value(series.latest, precision=spec.precision)}")
        if spec.description:
            room = self.size.width - len(key) - 14
            text.append(f"  {_shorten(spec.description, room)}" if room > 10 else "", "dim")
        height = n_lines - 1 - is_apart
        lines = chart_lines(
            series, precision=spec.precision, width=self.size.width, height=max(2, height)
        )
        for line in lines:
            text.append("\n")
            text.append(line, _STYLES[index % len(_STYLES)])


class RunsTable(DataTable[Text]):
    """A row per run: what it trains, how far it is, its latest return."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cursor_type="row", **options)
        self._shown: list[tuple[str, ...]] = []

    def show(self, lines: Sequence[RunLine], *, watched: Run) -> None:
        """Bring the list up to date."""
        rows = [self._cells(line, is_watched=line.run.id == watched.id) for line in lines]
        marks = [tuple(cell.plain + str(cell.style) for cell in row) for row in rows]
        marks.append((str(self.size.width),))
        if marks == self._shown:
            return
        row, self._shown = self.cursor_row, marks
        self.clear(columns=True)
        for name, width in (
            ("run", _RUN),
            ("", 4),
            (f"{'return':>8}", 8),
            ("status", 11),
            ("id", self._id_width()),
        ):
            if width > 0:
                self.add_column(name, width=width)
        for line, cells in zip(lines, rows, strict=True):
            self.add_row(*cells[: len(self.columns)], key=str(line.run.path))
        self.move_cursor(row=row, animate=False)

    def _cells(self, line: RunLine, *, is_watched: bool) -> tuple[Text, ...]:
        value = "" if line.mean_return is None else format_value(line.mean_return, precision=1)
        style = STATUS_STYLES.get(line.status, "")
        name = _shorten(f"{'▸' if is_watched else ' '}{line.config_id}", _RUN)
        return (
            Text(name, "bold" if is_watched else ""),
            Text(f"{line.fraction:4.0%}"),
            Text(f"{value:>8}"),
            Text(line.status, style),
            Text(line.run.id, "dim"),
        )

    def _id_width(self) -> int:
        """Return what is left for the id of a run; 0 where that says nothing."""
        left = self.size.width - _RUN - 4 - 8 - 11 - 5 * _PADDING
        return left if left >= _MIN_ID else 0


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
