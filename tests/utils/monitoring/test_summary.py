from tests.helpers.watched_run import WatchedRun
from utils.monitoring import RunView, find_troubles, summarize_run
from utils.storage import write_json


def summary_of(watched, **options):
    view = RunView(watched.run)
    view.refresh()
    return summarize_run(view, find_troubles(view, free_bytes=10**12), **options)


def test_a_run_in_a_page(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(8)
    watched.alert()
    lines = summary_of(watched).splitlines()
    assert lines[0] == f"Fake-v0:ppo  {watched.run.path}"
    assert lines[1].startswith("running  ━━──")
    assert "8.0%  800 / 10,000 steps  epoch 8  100 steps/s  elapsed 0:08  left 1:32" in lines[1]
    assert lines[2].startswith("warning: train/ppo/approx_kl 0.0812 (above 0.05, epoch 8): the")
    assert lines[3].endswith("try: lower policy_lr")
    assert lines[5].split() == ["metric", "latest", "best", "trend"]
    assert lines[6].split() == ["train/roll/ep_rew_mean", "7.00", "7.00", "▁▂▃▄▅▆▇█"]
    assert lines[7].split() == ["train/loss/value", "0.1250", "0.1250", "█▄▃▂▂▁▁▁"]


def test_ascii_only_and_narrow(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(30)
    text = summary_of(watched, is_ascii=True, width=60)
    assert text.isascii()
    assert max(len(line) for line in text.splitlines()[5:]) <= 60


def test_a_finished_run_shows_its_test(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(3)
    test = {"best": {"mean": 12.5}, "last": {"mean": None}}
    write_json(watched.run.results_path, {"test": test})
    assert "final test" not in summary_of(watched)
    watched.run.write_status("completed")
    text = summary_of(watched)
    assert "final test: best 12.50\n" in text
    assert "left" not in text


def test_before_the_first_epoch(tmp_path):
    assert "no epoch has ended yet" in summary_of(WatchedRun(tmp_path))


def test_after_the_last_step(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(100)
    assert "trained, being tested" in summary_of(watched)


def test_files_of_somebody_else_in_the_folder_are_passed_over(tmp_path):
    watched = WatchedRun(tmp_path)
    watched.rows(2)
    write_json(watched.run.config_path, {"config_id": ["x"], "max_timesteps": "many"})
    write_json(watched.run.results_path, {"test": {"best": {"mean": "abc"}, "last": 3}})
    watched.alert(epoch="x")
    watched.alert(fixes=7, value=None)
    with watched.run.metrics_jsonl.open("ab") as file:
        file.write(b'[1]\n\x00\x01\n{"epoch": 9, "timesteps": 900, "a": "x"}\n{"epoch": 9}\n')
    text = summary_of(watched)
    assert "200 / 1 steps  epoch 2" in text
    assert text.count("warning: ") == 1
    watched.run.status_path.write_text('{"a": 1}')
    assert summary_of(watched).splitlines()[1].startswith("unknown  ")
