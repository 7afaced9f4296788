import pytest

from tests.helpers.fake_agent import FakeAgent
from trainer_callbacks.dispatch_metrics import DispatchMetrics
from utils.loggers import CsvWriter, JsonlWriter, read_jsonl


class ListWriter:
    def __init__(self):
        self.rows = []
        self.truncated_at = []
        self.n_closed = 0

    def write(self, row, *, epoch, timesteps):
        self.rows.append((epoch, timesteps, dict(row)))

    def truncate_after(self, epoch):
        self.truncated_at.append(epoch)

    def close(self):
        self.n_closed += 1


class Clock:
    now = 10.0

    def __call__(self):
        return self.now


def make_agent(*writers, clock=None):
    agent = FakeAgent()
    agent.callbacks = [DispatchMetrics(writers, clock=clock or Clock())]
    return agent


def test_each_epoch_is_one_row_in_every_writer_and_the_agents_last_row():
    clock, first, second = Clock(), ListWriter(), ListWriter()
    agent = make_agent(first, second, clock=clock)
    agent.start()
    for epoch in (1, 2):
        clock.now += 0.5
        agent.train_epoch(train__loss__value=1.0 * epoch)
    expected = {
        "train/loss/value": 2.0,
        "train/time/elapsed_seconds": 1.0,
        "train/time/steps_per_second": 200.0,
    }
    assert first.rows[1] == (2, 200, expected)
    assert [row[:2] for row in first.rows] == [(1, 100), (2, 200)]
    assert second.rows == first.rows
    assert agent.last_row == expected
    assert len(agent.recorder) == 0


def test_metric_without_a_value_is_absent_from_the_next_row():
    writer = ListWriter()
    agent = make_agent(writer)
    agent.start()
    agent.train_epoch(train__roll__ep_rew_mean=5.0)
    agent.train_epoch()
    assert "train/roll/ep_rew_mean" in writer.rows[0][2]
    assert "train/roll/ep_rew_mean" not in writer.rows[1][2]


def test_resume_removes_rows_beyond_the_checkpoint_and_goes_on_counting_time(tmp_path):
    clock = Clock()
    paths = tmp_path / "m.csv", tmp_path / "m.jsonl"
    agent = make_agent(CsvWriter(paths[0]), JsonlWriter(paths[1]), clock=clock)
    agent.start()
    for _ in range(3):
        clock.now += 1.0
        agent.train_epoch(train__loss__value=1.0)
    state = agent.checkpoint_state()
    clock.now += 1.0
    agent.train_epoch(train__loss__value=1.0)

    clock.now = 5000.0
    resumed = make_agent(CsvWriter(paths[0]), JsonlWriter(paths[1]), clock=clock)
    resumed.load(state)
    resumed.start()
    for _ in range(2):
        clock.now += 1.0
        resumed.train_epoch(train__loss__value=1.0)
    rows = read_jsonl(paths[1])
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["timesteps"] for row in rows] == [100, 200, 300, 400, 500]
    assert [row["train/time/elapsed_seconds"] for row in rows] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert {row["train/time/steps_per_second"] for row in rows} == {100.0}
    assert paths[0].read_text().count("\n") == 6


@pytest.mark.parametrize("ending", ["teardown", "exception", "both"])
def test_writers_are_closed_once(ending):
    writer = ListWriter()
    agent = make_agent(writer)
    (callback,) = agent.callbacks
    agent.start()
    if ending != "teardown":
        callback.on_exception(None, agent, KeyboardInterrupt())
    if ending != "exception":
        callback.teardown(None, agent, "fit")
    assert writer.n_closed == 1
