"""The monitor, driven by Textual's own pilot."""

from __future__ import annotations

import asyncio
import re

import pytest

pytest.importorskip("textual")

from textual.widgets._toast import Toast

from tests.helpers.watched_run import WatchedRun
from utils.monitoring.app import MonitorApp
from utils.monitoring.panels import CurvesPanel, MetricsTable, RunsTable
from utils.monitoring.stop_dialog import StopDialog
from utils.run import Run
from utils.run.control import Request, RequestReader, post_answer
from utils.run.status import session_id
from utils.storage import write_json

SIZES = [(80, 24), (120, 35), (200, 50), (40, 10)]


@pytest.fixture
def watched(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(30)
    return watched


def drive(watched, scenario, *, size=(120, 35), follows_newest=False, **options):
    """Run a scenario `async (app, pilot)` in the monitor of a run."""

    async def run():
        app = MonitorApp(
            watched.run, runs_dir=watched.run.path.parent, follows_newest=follows_newest
        )
        async with app.run_test(size=size, **options) as pilot:
            await pilot.pause()
            look(app)
            await scenario(app, pilot)

    asyncio.run(run())


def look(app):
    app.refresh_view()
    app.refresh_runs()


def text_of(app, selector):
    return app.query_one(selector).render().plain


def screen_lines(app):
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def requests_of(watched):
    return RequestReader(watched.run, session=session_id(watched.run.read_status())).read()


@pytest.mark.parametrize("size", SIZES)
def test_it_fits_any_terminal(watched, size):
    watched.alert()

    async def scenario(app, pilot):
        await pilot.pause()
        look(app)
        await pilot.pause()
        lines = screen_lines(app)
        assert len(lines) == size[1]
        assert lines[0].startswith(" Fake-v0:ppo  running")
        assert "30.0%" in lines[1]
        assert "3,000 / 10,000 steps" in lines[2]
        text = "\n".join(lines)
        if size[1] >= 24:
            assert "train/roll/ep_rew_mean" in text
            assert "Leave" in text
            assert any("\u2800" < c <= "\u28ff" for c in text), "no curve"
        if size[0] >= 110:
            assert "try: lower policy_lr" in text

    drive(watched, scenario, size=size)


def test_rows_follow_the_file(watched):
    async def scenario(app, pilot):
        table = app.query_one(MetricsTable)
        assert table.get_cell("train/roll/ep_rew_mean", "latest").plain.strip() == "29.00"
        watched.row(train__roll__ep_rew_mean=500.0, train__ppo__approx_kl=0.01)
        look(app)
        assert table.get_cell("train/roll/ep_rew_mean", "latest").plain.strip() == "500.00"
        assert table.get_cell("train/roll/ep_rew_mean", "best").plain.strip() == "500.00"
        assert "train/ppo/approx_kl" in {key.value for key in table.rows}
        watched.resume_from(10)
        look(app)
        assert table.get_cell("train/roll/ep_rew_mean", "latest").plain.strip() == "9.00"

    drive(watched, scenario)


def test_the_cursor_chooses_the_curve_and_space_pins_it(watched):
    async def scenario(app, pilot):
        curves = app.query_one(CurvesPanel)
        assert curves.render().plain.startswith("train/roll/ep_rew_mean")
        await pilot.press("down")
        await pilot.pause()
        assert curves.render().plain.startswith("train/loss/value")
        await pilot.press("space", "down")
        await pilot.pause()
        plain = curves.render().plain
        assert plain.startswith("train/time/elapsed_seconds")
        assert "train/loss/value" in plain
        await pilot.press("up", "space", "down")
        await pilot.pause()
        assert "train/loss/value" not in curves.render().plain

    drive(watched, scenario)


@pytest.mark.parametrize(("key", "kind"), [("s", "save"), ("e", "evaluate")])
def test_requests_go_to_the_run_and_the_answer_comes_back(watched, key, kind):
    async def scenario(app, pilot):
        await pilot.press(key)
        (request,) = requests_of(watched)
        assert request.kind == kind
        asked = rf"{kind}: asked \d+:\d\d ago, done at the end of the epoch"
        assert re.match(asked, text_of(app, "#requests"))
        post_answer(watched.run, request.id, "it is done")
        look(app)
        assert text_of(app, "#requests") == f"{kind}: ✓ it is done"

    drive(watched, scenario)


def test_stopping_asks_first(watched):
    async def scenario(app, pilot):
        await pilot.press("x")
        assert isinstance(app.screen, StopDialog)
        await pilot.press("enter")  # the button that goes on has the focus
        await pilot.press("x", "escape")
        assert requests_of(watched) == []
        await pilot.press("x", "y")
        await pilot.pause()
        assert [request.kind for request in requests_of(watched)] == ["stop"]

    drive(watched, scenario)


def test_a_finished_run_takes_no_requests(watched):
    watched.run.write_status("completed")
    write_json(watched.run.results_path, {"test": {"best": {"mean": 12.5}}})

    async def scenario(app, pilot):
        assert "completed" in text_of(app, "#head")
        assert "final test: best 12.50" in text_of(app, "#head")
        await pilot.press("s", "x")
        await pilot.pause()
        assert not watched.run.control_path.exists()
        assert [n.message for n in app._notifications] == [
            f"run '{watched.run.id}' is not being trained: completed"
        ] * 2

    drive(watched, scenario)


def test_a_process_that_died_is_told(watched):
    async def scenario(app, pilot):
        assert not app.query_one("#troubles").display
        watched.die()
        look(app)
        assert app.query_one("#troubles").display
        assert "is gone without a word" in text_of(app, "#troubles")
        assert "died" in text_of(app, "#head")

    drive(watched, scenario)


def test_switching_to_another_run(watched, tmp_path):
    other = WatchedRun(tmp_path, "[red]B-v0[/red]:ppo")
    other.row(train__loss__policy=0.25)

    async def scenario(app, pilot):
        await pilot.press("r")
        await pilot.pause()
        await pilot.pause()
        runs = app.query_one(RunsTable)
        assert runs.has_focus
        names = [runs.get_row_at(i)[0].plain for i in range(runs.row_count)]
        assert sorted(names) == [" [red]B-v0[/red]:ppo", "▸Fake-v0:ppo"]
        await pilot.press(*(["up"] * 2 + ["down"] * names.index(" [red]B-v0[/red]:ppo")), "enter")
        await pilot.pause()
        assert app.run_view.folder.id == other.run.id
        keys = {key.value for key in app.query_one(MetricsTable).rows}
        assert keys == {"train/loss/policy", "train/time/elapsed_seconds"}
        assert "[red]B-v0[/red]:ppo" in text_of(app, "#head")

    drive(watched, scenario)


def test_panels_come_and_go(watched):
    watched.run.log_path.write_text("the first line\n")

    async def scenario(app, pilot):
        look(app)
        for key, selector in (("l", "#log"), ("r", "#runs")):
            assert not app.query_one(selector).display
            await pilot.press(key)
            await pilot.pause()
            assert app.query_one(selector).display
            await pilot.press(key)
            await pilot.pause()
            assert not app.query_one(selector).display
        assert "the first line" in text_of(app, "#log")
        await pilot.press("c")
        assert not app.query_one("#metrics").display
        await pilot.press("c")
        assert app.query_one("#metrics").display

    drive(watched, scenario)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_leaving_leaves_nothing_behind(watched, key):
    before = {path: path.stat().st_mtime_ns for path in watched.run.path.rglob("*")}

    async def scenario(app, pilot):
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running

    drive(watched, scenario)
    assert {path: path.stat().st_mtime_ns for path in watched.run.path.rglob("*")} == before


def test_an_empty_run_and_a_vanished_one(tmp_path):
    watched = WatchedRun(tmp_path)

    async def scenario(app, pilot):
        assert "no epoch has ended yet" in app.query_one(CurvesPanel).render().plain
        watched.run.config_path.unlink()
        watched.run.status_path.unlink()
        look(app)
        assert "unknown" in text_of(app, "#head")

    drive(watched, scenario)


def test_a_run_may_be_called_what_looks_like_markup(watched):
    folder = watched.run.path.with_name("a [red] <b> [@click=x")
    watched.run.path.rename(folder)
    watched.run = Run(folder)

    async def scenario(app, pilot):
        watched.run.write_status("completed")
        await pilot.press("s")
        request = Request(id="a", kind="save", origin="x")
        app.requests["a"] = (request, 0.0, "")
        post_answer(watched.run, "a", "saved [/red]")
        look(app)
        await pilot.press("r")
        await pilot.pause()
        texts = [notification.message for notification in app._notifications]
        assert texts == [f"run '{folder.name}' is not being trained: completed", "saved [/red]"]
        shown = [toast.render().plain for toast in app.screen.query(Toast)]
        assert [text.rpartition("\n")[2] for text in shown] == texts
        assert "saved [/red]" in "\n".join(screen_lines(app))

    drive(watched, scenario, size=(200, 50), notifications=True)


def newer_run(watched):
    config = {"config_id": "Newer-v0:ppo", "max_timesteps": 1000}
    return Run.create(watched.run.path.parent, config_id="Newer-v0:ppo", config_dict=config)


def test_a_newer_run_is_told_of_and_followed_on_request_or_when_the_watched_one_ends(watched):
    async def scenario(app, pilot):
        app.look_for_newer()
        assert not app.query_one("#newer").display
        newer = newer_run(watched)
        app.look_for_newer()
        await pilot.pause()
        assert app.run_view.folder.id == watched.run.id  # it still trains
        assert newer.id in text_of(app, "#newer")
        await pilot.press("n")
        assert app.run_view.folder.id == newer.id
        app.look_for_newer()
        assert not app.query_one("#newer").display

    drive(watched, scenario, follows_newest=True)


def test_when_the_watched_run_has_ended_the_next_one_is_watched(watched):
    async def scenario(app, pilot):
        watched.run.write_status("completed", reason="max_timesteps reached")
        newer = newer_run(watched)
        look(app)
        app.look_for_newer()
        await pilot.pause()
        assert app.run_view.folder.id == newer.id
        assert "Newer-v0:ppo" in text_of(app, "#head")

    drive(watched, scenario, follows_newest=True)


def test_a_run_that_a_person_named_or_chose_stays(watched):
    async def scenario(app, pilot):
        watched.run.write_status("completed", reason="max_timesteps reached")
        newer_run(watched)
        look(app)
        app.look_for_newer()
        await pilot.pause()
        assert app.run_view.folder.id == watched.run.id
        assert not app.query_one("#newer").display

    drive(watched, scenario)


def test_a_narrow_terminal_shows_the_latest_values_and_the_way_out(watched):
    async def scenario(app, pilot):
        await pilot.pause()
        table = app.query_one(MetricsTable)
        assert [column.label.plain.strip() for column in table.columns.values()] == [
            "metric",
            "latest",
        ]
        assert sum(column.get_render_width(table) for column in table.columns.values()) <= 40
        assert "q Leave" in screen_lines(app)[-1]

    drive(watched, scenario, size=(40, 24))


def test_a_timer_that_goes_off_while_the_screen_is_taken_down_does_no_harm(watched):
    async def scenario(app, pilot):
        await app.query_one("#troubles").remove()
        watched.rows(1)
        await app.query_one(CurvesPanel).remove()
        for timer in list(app._timers):
            timer._callback()
        app.query_one(MetricsTable).move_cursor(row=1)
        await pilot.pause()

    drive(watched, scenario)
