import math
import os

import pytest

from tests.helpers.watched_run import WatchedRun
from utils.monitoring import RunView
from utils.monitoring.run_view import read_phases
from utils.monitoring.summary import summarize_run
from utils.run.control import post_answer, post_request


@pytest.fixture
def watched(tmp_path):
    return WatchedRun(tmp_path)


@pytest.fixture
def view(watched):
    return RunView(watched.run)


def test_before_the_first_epoch(view):
    view.refresh()
    assert view.is_running
    assert view.config_id == "Fake-v0:ppo"
    assert view.ordered_keys() == []
    assert view.progress().fraction == 0.0
    assert math.isnan(view.seconds_per_epoch)


def test_rows_are_taken_as_they_come(watched, view):
    watched.rows(3)
    view.refresh()
    watched.rows(2)
    view.refresh()
    series = view.series["train/roll/ep_rew_mean"]
    assert series.xs == [100.0, 200.0, 300.0, 400.0, 500.0]
    assert series.ys == [0.0, 1.0, 2.0, 3.0, 4.0]
    progress = view.progress()
    assert (progress.epoch, progress.timesteps, progress.max_timesteps) == (5, 500, 10_000)
    # 100 timesteps in each second; 9,500 are left.
    assert progress.speed == pytest.approx(100.0)
    assert progress.seconds_left == pytest.approx(95.0)
    assert view.seconds_per_epoch == pytest.approx(1.0)
    assert view.ordered_keys()[:2] == ["train/roll/ep_rew_mean", "train/loss/value"]


def test_speed_is_that_of_the_last_seconds(watched, view):
    watched.rows(30)
    view.refresh()
    assert view.progress().speed == pytest.approx(100.0)
    watched.epoch_seconds = 0.25
    watched.rows(40)  # ten seconds with 400 timesteps in each
    view.refresh()
    assert view.progress().speed == pytest.approx(400.0)
    assert view.progress().elapsed_seconds == pytest.approx(40.0)


PHASES = [
    {
        "name": "collect", "type": "online", "hooks": ["collect"],
        "duration": {"timesteps": 200, "updates": None, "cycles": None},
    },
    {"name": "see", "type": "offline", "hooks": ["update_vae"], "duration": {"updates": 80}},
]  # fmt: skip


def test_phases_are_followed_by_what_they_count(tmp_path):
    watched = WatchedRun(tmp_path, phases=PHASES)
    view = RunView(watched.run)
    for phases_done in (0.5, 1.0, 1.25, 1.5):
        watched.row(train__replay__phases_done=phases_done)
    view.refresh()
    # In the second phase 40 updates in 2 seconds; 40 are left.
    progress = view.progress()
    assert progress.fraction == pytest.approx(0.75)
    assert progress.amount_text() == "phase 2/2 see  40/80 updates"
    assert (progress.speed_text(), progress.left_text()) == ("20 updates/s", "left 0:02")
    text = summarize_run(view, [])
    assert "75.0%  phase 2 / 2 see  40 / 80 updates  epoch 4  20 updates/s  elapsed 0:04" in text


def test_damaged_phases_are_none(tmp_path):
    for damaged in ([{"name": "see"}], 7, [3]):
        assert read_phases({"phases": damaged}) == []
    assert read_phases({}) == []


def test_a_resumed_run_computes_rows_again(watched, view):
    watched.rows(5)
    view.refresh()
    watched.resume_from(2)
    watched.row(train__roll__ep_rew_mean=-7.0)
    view.refresh()
    series = view.series["train/roll/ep_rew_mean"]
    assert series.ys == [0.0, 1.0, -7.0]
    assert (view.epoch, series.lowest) == (3, -7.0)
    assert view.n_rows == 8


def test_numbers_that_are_not_finite_are_read(watched, view):
    watched.row(train__loss__value=math.nan, train__loss__policy=-math.inf)
    view.refresh()
    assert math.isnan(view.series["train/loss/value"].latest)
    assert view.series["train/loss/policy"].latest == -math.inf


def test_half_written_and_damaged_lines_are_passed_over(watched, view):
    watched.rows(1)
    with watched.run.metrics_jsonl.open("a") as file:
        file.write('{"epoch": "two"}\n[]\n{"epoch": 2, "timesteps": 200, "train/loss/value": nu')
    view.refresh()
    assert view.epoch == 1
    assert view.bad_lines == 1
    with watched.run.metrics_jsonl.open("a") as file:
        file.write('ll}\n{"epoch": 3, "timesteps": 300, "train/loss/value": 0.5}\n')
    view.refresh()
    assert view.epoch == 3
    assert view.series["train/loss/value"].latest == 0.5


def test_a_long_file_is_read_in_turns(watched, view):
    text = "".join(
        f'{{"epoch": {i}, "timesteps": {i}, "train/loss/value": 0.123456789}}\n'
        for i in range(1, 20_001)
    )
    watched.run.metrics_jsonl.write_text(text)
    view.refresh(patience_seconds=0.0)
    assert 0 < view.epoch < 20_000
    assert not view.is_complete
    for _ in range(20):
        view.refresh(patience_seconds=0.0)
    assert view.is_complete
    assert view.epoch == 20_000


def test_alerts_log_results_and_answers(watched, view):
    watched.rows(1)
    watched.alert()
    watched.run.log_path.write_text("one\ntwo\nthr")
    request = post_request(watched.run, "save", origin="a test")
    assert view.refresh() == []
    post_answer(watched.run, request.id, "saved")
    (answer,) = view.refresh()
    assert (answer.id, answer.text) == (request.id, "saved")
    assert view.refresh() == []
    assert [alert["key"] for alert in view.alerts] == ["train/ppo/approx_kl"]
    assert list(view.log) == ["one", "two"]


def test_time_since_the_last_epoch(watched):
    watched.rows(1)
    view = RunView(watched.run, clock=lambda: 1000.0)
    for path in (watched.run.metrics_jsonl, watched.run.status_path):
        os.utime(path, (988.0, 988.0))
    assert view.seconds_since_row == pytest.approx(12.0)


def test_a_folder_that_vanishes_does_no_harm(watched, view):
    watched.rows(2)
    view.refresh()
    for path in sorted(watched.run.path.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    watched.run.path.rmdir()
    view.refresh()
    assert view.status["status"] == "unknown"


def test_looking_writes_nothing(watched, view):
    watched.rows(2)

    def contents():
        return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in watched.run.path.rglob("*")}

    before = contents()
    view.refresh()
    view.refresh()
    assert contents() == before
