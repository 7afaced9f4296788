import os

from tests.helpers.watched_run import WatchedRun
from utils.monitoring.overview import RunsOverview


def test_every_run_has_a_line(tmp_path):
    first = WatchedRun(tmp_path, "A-v0:ppo")
    first.rows(5)
    first.run.write_status("completed")
    second = WatchedRun(tmp_path, "B-v0:ppo")
    second.die()
    overview = RunsOverview(tmp_path)
    lines = {line.config_id: line for line in overview.read()}
    assert (lines["A-v0:ppo"].status, lines["A-v0:ppo"].fraction) == ("completed", 0.05)
    assert lines["A-v0:ppo"].mean_return == 4.0
    assert (lines["B-v0:ppo"].status, lines["B-v0:ppo"].mean_return) == ("died", None)
    second.rows(10)
    third = WatchedRun(tmp_path, "C-v0:ppo")
    lines = {line.config_id: line for line in overview.read()}
    assert lines["B-v0:ppo"].fraction == 0.1
    assert lines["C-v0:ppo"].run.id == third.run.id


def test_a_file_that_did_not_change_is_not_read_again(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(2)
    overview = RunsOverview(tmp_path)
    before = overview.read()
    stat = os.stat(watched.run.metrics_jsonl)
    content = watched.run.metrics_jsonl.read_bytes()
    watched.run.metrics_jsonl.write_bytes(b"x" * len(content))
    os.utime(watched.run.metrics_jsonl, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert overview.read() == before


def test_broken_runs_do_no_harm(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.run.metrics_jsonl.write_bytes(b"\xff\n{}\n[1]\n")
    watched.run.config_path.write_text("{")
    (line,) = RunsOverview(tmp_path).read()
    assert (line.config_id, line.fraction, line.mean_return) == ("?", 0.0, None)
    assert RunsOverview(tmp_path / "nothing").read() == []


def test_a_run_of_another_program_has_a_line_that_says_nothing(tmp_path):
    watched = WatchedRun(tmp_path, max_timesteps=None)
    watched.run.metrics_jsonl.write_text('{"timesteps": "a", "train/roll/ep_rew_mean": []}\n')
    (line,) = RunsOverview(tmp_path).read()
    assert (line.fraction, line.mean_return) == (0.0, None)
