import json

import pytest

from utils.loggers import JsonlWriter
from utils.reports import summarize_run
from utils.run import Run


@pytest.fixture
def run(tmp_path):
    run = Run.create(tmp_path, config_id="A:ppo", config_dict={})
    writer = JsonlWriter(run.metrics_jsonl)
    values = {1: None, 2: 10.0, 3: 30.0, 4: float("nan"), 5: 30.0, 6: 20.0}
    for epoch, value in values.items():
        row = {"train/time/elapsed_seconds": 0.5 * epoch}
        row |= {} if value is None else {"val/roll/ep_rew_mean": value}
        writer.write(row, epoch=epoch, timesteps=100 * epoch)
    writer.close()
    return run


def test_what_a_finished_run_came_to(run):
    test = {"best": {"mean": 28.0, "std": 2.0}, "last": {"mean": None, "std": None}}
    run.results_path.write_text(json.dumps({"test": test, "stop_reason": "enough"}))
    run.alerts_jsonl.write_text('{"epoch": 2, "key": "a"}\n')
    assert summarize_run(run, solved_threshold=25.0) == {
        "train/total/timesteps": 600,
        "train/total/seconds": 3.0,
        "train/total/alerts": 1,
        "val/best/ep_rew_mean": 30.0,
        "val/best/timesteps": 300,  # the earliest of equals
        "val/mean/ep_rew_mean": 22.5,  # (10 + 30 + 30 + 20) / 4
        "val/solved/timesteps": 300,
        "test/best/ep_rew_mean": 28.0,
        "test/best/ep_rew_std": 2.0,
        "stop_reason": "enough",
    }


def test_what_is_not_known_is_absent(run, tmp_path):
    summary = summarize_run(run, solved_threshold=31.0)
    assert "val/solved/timesteps" not in summary
    assert not any(key.startswith("test/") for key in summary)
    empty = Run.create(tmp_path, config_id="B:ppo", config_dict={})
    assert summarize_run(empty) == {"train/total/alerts": 0}
