"""The monitor as a Textual application."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.widgets import DataTable, Footer, Static
from typing_extensions import override

from utils.errors import UserError
from utils.monitoring.health import RETURN_KEYS, find_troubles
from utils.monitoring.overview import RunsOverview, newest_run
from utils.monitoring.panels import CurvesPanel, MetricsTable, RunsTable
from utils.monitoring.run_view import RunView
from utils.monitoring.stop_dialog import StopDialog
from utils.monitoring.texts import head_text, log_text, requests_text, troubles_text
from utils.run import Run
from utils.run.control import Answer, Request, RequestKind, post_request

_REFRESH_SECONDS = 1.0
_RUNS_SECONDS = 3.0
_PATIENCE_SECONDS = 0.15
_MAX_REQUESTS = 3


class MonitorApp(App[None]):
    """Shows one run, and lists the others; asks for something only through the run's folder."""

    TITLE = "monitor"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [
        (0, "-narrow"),
        (110, "-wide"),
        (170, "-huge"),
    ]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-low"), (40, "-high")]
    CSS = """
    Screen { layers: base over; }
    Static { text-wrap: nowrap; text-overflow: ellipsis; }
    #head { height: 3; padding: 0 1; background: $panel; }
    #troubles { height: auto; padding: 0 1; }
    #newer { height: auto; padding: 0 1; color: $text-accent; display: none; }
    #requests { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
    #body { height: 1fr; }
    #runs { width: 52; display: none; border-right: solid $panel; }
    #watched { width: 1fr; layout: vertical; }
    #metrics { height: 1fr; }
    #curves { height: 9; padding: 0 1; }
    #log { height: 6; display: none; padding: 0 1; border-top: solid $panel; }
    DataTable { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    DataTable > .datatable--header { background: $surface; color: $text-muted; }
    .-wide #watched, .-huge #watched { layout: horizontal; }
    .-wide #metrics { width: 64; height: 1fr; }
    .-huge #metrics { width: 72; height: 1fr; }
    .-wide #curves, .-huge #curves { width: 1fr; height: 1fr; border-left: solid $panel; }
    .-huge #runs { display: block; }
    .-high #log { display: block; }
    Screen.with-runs #runs { display: block; }
    Screen.with-runs.-narrow #runs { width: 100%; }
    Screen.with-runs.-narrow #watched { display: none; }
    Screen.without-runs #runs { display: none; }
    Screen.with-log #log { display: block; }
    Screen.without-log #log { display: none; }
    Screen.only-curves #metrics { display: none; }
    Screen.only-curves #curves { height: 1fr; border-left: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Leave"),
        Binding("s", "request('save')", "Save"),
        Binding("e", "request('evaluate')", "Evaluate"),
        Binding("x", "stop_training", "Stop"),
        Binding("space", "pin", "Pin"),
        Binding("c", "toggle_curves", "Curves"),
        Binding("r", "toggle_runs", "Runs"),
        Binding("l", "toggle_log", "Log"),
        Binding("n", "watch_newest", "Newest", show=False),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, run: Run, *, runs_dir: Path, follows_newest: bool = False) -> None:
        """Watch a run.

        Args:
            run: The first one to show.
            runs_dir: The folder of the runs to choose from.
            follows_newest: The newest run was asked for: turn to a newer one when the watched one
                has ended, and say that there is one while it still trains. It ends when a person
                chooses a run.
        """
        super().__init__()
        self._follows_newest = follows_newest
        self._newer: Run | None = None
        self.overview = RunsOverview(runs_dir)
        self._texts: dict[str, Text] = {}
        self._n_ticks = 0
        self.watch_run(run)

    def watch_run(self, run: Run) -> None:
        """Turn to a run; what was seen of another one is forgotten."""
        self.run_view = RunView(run)
        self.requests: dict[str, tuple[Request, float, str]] = {}
        self._drawn: tuple[object, ...] = ()

    @override
    def compose(self) -> ComposeResult:
        yield Static(id="head")
        yield Static(id="troubles")
        with Horizontal(id="body"):
            yield RunsTable(id="runs")
            with Vertical(id="watched"):
                yield MetricsTable(id="metrics")
                yield CurvesPanel(id="curves")
        yield Static(id="log")
        yield Static(id="newer")
        yield Static(id="requests")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look at the files."""
        self.query_one(MetricsTable).focus()
        self.refresh_runs()
        self.refresh_view()
        self.set_interval(_REFRESH_SECONDS, _while_up(self._tick))
        self.set_interval(_RUNS_SECONDS, _while_up(self.refresh_runs))
        self.set_interval(_RUNS_SECONDS, _while_up(self.look_for_newer))

    def _tick(self) -> None:
        """Look again; the table, which is most of the work, takes its turn every second time."""
        self._n_ticks += 1
        self.refresh_view(draws_metrics=self._n_ticks % 2 == 0)

    def refresh_view(self, *, draws_metrics: bool = True) -> None:
        """Read what is new of the run, and show it.

        Args:
            draws_metrics: Show table and curves, too.
        """
        view = self.run_view
        self._note_answers(view.refresh(patience_seconds=_PATIENCE_SECONDS))
        troubles = find_troubles(view)
        self._show("#head", head_text(view, width=self.size.width - 2))
        text = troubles_text(troubles, width=self.size.width - 2, height=self.size.height // 6)
        self._show("#troubles", text)
        self.query_one("#troubles").display = bool(troubles)
        if draws_metrics:
            self._show_metrics({trouble.key for trouble in troubles if trouble.key})
        log = self.query_one("#log", Static)
        self._show("#log", log_text(view, height=max(1, log.size.height)))
        self._show_requests()

    def refresh_runs(self) -> None:
        """Look at all runs, if they are shown."""
        table = self.query_one(RunsTable)
        if table.display:
            table.show(self.overview.read(), watched=self.run_view.folder)

    def look_for_newer(self) -> None:
        """Turn to a run that began after the watched one, or say that there is one."""
        newest = newest_run(self.overview.runs_dir) if self._follows_newest else None
        is_newer = newest is not None and newest.id != self.run_view.folder.id
        self._newer = newest if is_newer else None
        if self._newer is not None and not self.run_view.is_running:
            self.action_watch_newest()
        text = (
            "" if self._newer is None else f"a newer run has begun: {self._newer.id}  (n: watch it)"
        )
        self._show("#newer", Text(text))
        self.query_one("#newer").display = bool(text)

    def action_watch_newest(self) -> None:
        """Turn to the newer run, if there is one."""
        if self._newer is None:
            return
        newer, self._newer = self._newer, None
        self._turn_to(newer)
        self.query_one("#newer").display = False
        self.notify(f"watching the newer run {newer.id}", markup=False)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the curve of the metric under the cursor."""
        if event.data_table.id == "metrics":
            for panel in self.query(CurvesPanel):  # none while the screen is being taken down
                panel.show(self.run_view, self._curve_keys(self.query_one(MetricsTable)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Turn to the chosen run."""
        if event.data_table.id != "runs" or event.row_key.value is None:
            return
        self._follows_newest = False  # what a person has chosen stays
        if self.screen.has_class("-narrow"):
            self.screen.remove_class("with-runs")
        self.query_one(MetricsTable).focus()
        self._turn_to(Run(Path(event.row_key.value)))
        self.look_for_newer()

    def _turn_to(self, run: Run) -> None:
        self.watch_run(run)
        self.query_one(MetricsTable).forget()
        self.refresh_view()
        self.refresh_runs()

    def action_request(self, kind: RequestKind) -> None:
        """Ask the training for something."""
        try:
            request = post_request(self.run_view.folder, kind, origin="the monitor")
        except UserError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self.requests[request.id] = (request, time.monotonic(), "")
        while len(self.requests) > _MAX_REQUESTS:
            del self.requests[next(iter(self.requests))]
        self._show_requests()

    def action_stop_training(self) -> None:
        """Ask the training to stop, after a question."""
        if not self.run_view.is_running:
            self.action_request("stop")
            return

        def stop(is_sure: bool | None) -> None:
            if is_sure:
                self.action_request("stop")

        self.push_screen(StopDialog(self.run_view.config_id), stop)

    def action_pin(self) -> None:
        """Keep the curve of the metric under the cursor on the screen, or let it go."""
        table = self.query_one(MetricsTable)
        table.toggle_pin()
        self._drawn = ()
        self.refresh_view()

    def action_toggle_curves(self) -> None:
        """Show the curves alone, or with the table."""
        self.screen.toggle_class("only-curves")

    def action_toggle_runs(self) -> None:
        """Show or hide the list of runs."""
        table = self.query_one(RunsTable)
        self._toggle("runs", is_shown=table.display)
        self.call_after_refresh(self._enter_runs)

    def action_toggle_log(self) -> None:
        """Show or hide the end of run.log."""
        self._toggle("log", is_shown=self.query_one("#log").display)

    def _toggle(self, name: str, *, is_shown: bool) -> None:
        self.screen.set_class(not is_shown, f"with-{name}")
        self.screen.set_class(is_shown, f"without-{name}")

    def _enter_runs(self) -> None:
        table = self.query_one(RunsTable)
        self.refresh_runs()
        (table if table.display else self.query_one(MetricsTable)).focus()

    def _show_metrics(self, alarmed: set[str]) -> None:
        """Draw table and curves, if there is anything new to draw."""
        table, curves, view = (
            self.query_one(MetricsTable),
            self.query_one(CurvesPanel),
            self.run_view,
        )
        drawn = (id(view), view.n_rows, alarmed, table.size, curves.size)
        if drawn != self._drawn:
            self._drawn = drawn
            table.show(view, alarmed=alarmed)
            curves.show(view, self._curve_keys(table))

    def _curve_keys(self, table: MetricsTable) -> list[str]:
        """Return what to draw: what the cursor is on, then what is pinned or matters most."""
        view = self.run_view
        first = [key for key in RETURN_KEYS if not table.current_key] or [table.current_key]
        others = table.pinned or [
            key for key in view.ordered_keys() if view.spec.metric(key).highlight
        ]
        return list(dict.fromkeys(key for key in [*first, *others] if key in view.series))

    def _note_answers(self, answers: list[Answer]) -> None:
        for answer in answers:
            if answer.id in self.requests:
                request, at, _ = self.requests[answer.id]
                self.requests[answer.id] = (request, at, answer.text)
                self.notify(answer.text, title=f"{request.kind}: done", markup=False)

    def _show_requests(self) -> None:
        text = requests_text(list(self.requests.values()), self.run_view, now=time.monotonic())
        self._show("#requests", text)
        self.query_one("#requests").display = bool(self.requests)

    def _show(self, selector: str, text: Text) -> None:
        """Show a text; what stays the same is not drawn, and what is as high moves nothing."""
        before = self._texts.get(selector)
        if text != before:
            self._texts[selector] = text
            is_as_high = before is not None and text.plain.count("\n") == before.plain.count("\n")
            self.query_one(selector, Static).update(text, layout=not is_as_high)


def _while_up(look: Callable[[], None]) -> Callable[[], None]:
    """Return a look for a timer, which can go off while the screen is being taken down."""

    def look_if_up() -> None:
        with contextlib.suppress(NoMatches):
            look()

    return look_if_up
