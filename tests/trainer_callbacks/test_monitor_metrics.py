import math

import pytest

from tests.helpers.fake_agent import FakeAgent
from trainer_callbacks.monitor_metrics import MonitorMetrics
from utils.config import load_config
from utils.loggers import read_jsonl
from utils.metrics import MetricsMonitor
from utils.metrics_config import MetricsConfig

CONFIG = MetricsConfig.model_validate(
    {
        "groups": {},
        "alerts": [
            {
                "metric": "train/ppo/approx_kl",
                "above": 0.05,
                "message": "too much",
                "causes": ["c"],
                "fixes": ["f", "set max_timesteps: 1000", "set no_such_key: 1"],
                "cooldown_epochs": 1,
            }
        ],
    }
)


class Sink:
    def __init__(self):
        self.epochs = []

    def alert(self, alert):
        self.epochs.append(alert.epoch)


def make_agent(runs_dir, sink):
    agent = FakeAgent(runs_dir=runs_dir)
    agent.callbacks = [MonitorMetrics([sink], monitor=MetricsMonitor(CONFIG))]
    return agent


def test_alerts_go_to_sinks_and_to_the_run(tmp_path):
    sink = Sink()
    agent = make_agent(tmp_path, sink)
    agent.start()
    for value in (0.01, 0.08, 0.09, math.nan):
        agent.train_epoch(train__ppo__approx_kl=value)
    agent.end()
    assert sink.epochs == [2, 4]
    first, second = read_jsonl(agent.run.alerts_jsonl)
    assert (first["epoch"], first["timesteps"], first["value"]) == (2, 200, 0.08)
    assert (first["bound"], first["causes"], first["fixes"]) == ("above 0.05", ["c"], ["f"])
    assert math.isnan(second["value"])


def test_quiet_run_leaves_no_file(tmp_path):
    agent = make_agent(tmp_path, Sink())
    agent.start()
    agent.train_epoch(train__ppo__approx_kl=0.01)
    agent.end()
    assert not agent.run.alerts_jsonl.exists()


def test_resume_repeats_no_alert_and_keeps_the_cool_down(tmp_path):
    agent = make_agent(tmp_path, Sink())
    agent.start()
    agent.train_epoch(train__ppo__approx_kl=0.08)
    state = agent.checkpoint_state()
    for _ in range(3):
        agent.train_epoch(train__ppo__approx_kl=0.08)
    epochs = [row["epoch"] for row in read_jsonl(agent.run.alerts_jsonl)]
    assert epochs == [1, 3]

    run, agent = agent.run, make_agent(tmp_path, Sink())
    agent.run = run
    agent.load(state)
    agent.start()
    for _ in range(3):
        agent.train_epoch(train__ppo__approx_kl=0.08)
    assert [row["epoch"] for row in read_jsonl(run.alerts_jsonl)] == epochs


def test_agent_without_a_folder_still_tells_its_sinks():
    sink = Sink()
    agent = make_agent(None, sink)
    agent.start()
    agent.train_epoch(train__ppo__approx_kl=0.08)
    agent.end()
    assert sink.epochs == [1]


@pytest.mark.parametrize(
    ("n_updates", "is_interrupted", "n_alerts"), [(0, False, 1), (0, True, 0), (2, False, 0)]
)
def test_a_training_that_ends_without_an_update_is_an_alert(
    tmp_path, n_updates, is_interrupted, n_alerts
):
    sink = Sink()
    agent = make_agent(tmp_path, sink)
    agent.config = load_config("CartPole-v1:dreamer", ["train_ratio=0.001"])
    agent.is_interrupted = is_interrupted
    agent.start()
    agent.train_epoch(train__ppo__approx_kl=0.01)
    agent.counters.updates, agent.counters.timesteps = n_updates, 15_000
    agent.end()
    assert sink.epochs == [1] * n_alerts
    rows = read_jsonl(agent.run.alerts_jsonl) if n_alerts else []
    assert [row["key"] for row in rows] == ["train/cnt/updates"] * n_alerts
    for row in rows:  # 8 x 32 steps of an update, each of them a thousand times
        assert row["causes"] == [
            "train_ratio asks for one in 256,000 timesteps from timestep 256 on, and the run "
            "ended at 15,000"
        ]
        assert row["fixes"][0] == "raise train_ratio"
    if n_alerts:  # a run that goes on has not come to its end
        agent.callbacks = [MonitorMetrics([sink])]
        agent.start()
        assert read_jsonl(agent.run.alerts_jsonl) == []
