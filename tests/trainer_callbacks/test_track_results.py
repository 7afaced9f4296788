from types import SimpleNamespace

from trainer_callbacks.track_results import TrackResults
from utils.checkpoints import point
from utils.run import Run


class FakeTracker:
    def __init__(self):
        self.results = []
        self.has_failed = False

    def write_result(self, result):
        self.results.append(result)

    def mark_failed(self):
        self.has_failed = True


def make_agent(tmp_path, **facts):
    run = Run.create(tmp_path, config_id="A:ppo", config_dict={})
    config = SimpleNamespace(spec=SimpleNamespace(solved_threshold=5.0), env_id="A")
    standard = {"stop_reason": "enough", "is_interrupted": False, "train_env": None}
    return SimpleNamespace(run=run, config=config, **standard | facts)


def test_every_tracker_gets_summary_and_checkpoints(tmp_path):
    agent = make_agent(tmp_path)
    for name in ("epoch=01.ckpt", "epoch=02.ckpt"):
        (agent.run.checkpoints_dir / name).write_bytes(b"x")
    point(agent.run.checkpoints_dir, "best", "epoch=01.ckpt")
    point(agent.run.checkpoints_dir, "last", "epoch=02.ckpt")
    trackers = [FakeTracker(), FakeTracker()]
    TrackResults(trackers).on_fit_end(None, agent)
    for tracker in trackers:
        (result,) = tracker.results
        assert result.summary == {"train/total/alerts": 0, "stop_reason": "enough"}
        assert {n: p.name for n, p in result.checkpoints.items()} == {
            "best": "epoch=01.ckpt",
            "last": "epoch=02.ckpt",
        }
        assert not result.is_interrupted
        assert not tracker.has_failed


def test_an_interrupted_run_without_a_best_policy(tmp_path):
    agent = make_agent(tmp_path, is_interrupted=True, stop_reason="interrupted by SIGINT")
    (agent.run.checkpoints_dir / "epoch=01.ckpt").write_bytes(b"x")
    point(agent.run.checkpoints_dir, "last", "epoch=01.ckpt")
    tracker = FakeTracker()
    TrackResults([tracker]).on_fit_end(None, agent)
    (result,) = tracker.results
    assert list(result.checkpoints) == ["last"]
    assert result.is_interrupted


def test_a_failure_is_told(tmp_path):
    tracker = FakeTracker()
    TrackResults([tracker]).on_exception(None, make_agent(tmp_path), ValueError("x"))
    assert tracker.has_failed
