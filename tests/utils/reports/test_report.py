import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.errors import StorageError
from utils.loggers import JsonlWriter
from utils.reports import write_report
from utils.rollouts import EvaluationResult

RESULT = EvaluationResult(
    returns=[4.0, 6.0], lengths=[4, 6], n_unfinished=0, seconds=0.1, seed=9, is_deterministic=True
)


@pytest.fixture
def run(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}, {}], best=1)
    metrics = JsonlWriter(run.metrics_jsonl)
    for epoch in (1, 2):
        row = {"train/roll/ep_rew_mean": float("nan"), "train/loss/policy": 0.5}
        metrics.write(row, epoch=epoch, timesteps=16 * epoch)
    metrics.close()
    run.write_environment_facts(device="cpu", torch_threads=1)
    return run


def write(run, **changes):
    options = {
        "results": {"best": RESULT, "last": RESULT},
        "threshold": None,
        "stop_reason": "done",
        "seconds": 75.0,
    }
    return write_report(run, make_config(), **(options | changes))


def test_the_report_holds_every_part_and_links_what_exists(run):
    run.videos_dir.mkdir()
    for name in ("epoch=02.mp4", "epoch=01.mp4", "epoch=100.mp4", "play-epoch=01.mp4"):
        (run.videos_dir / name).touch()
    path = write(run)
    assert path == run.report_path
    text = path.read_text()
    parts = [line for line in text.splitlines() if line.startswith("#")]
    assert parts == [
        "# Drawing-v0:ppo, seed 0",
        "## Result",
        "## Curves",
        "## Next",
        "## Alerts",
        "## Settings",
        "## Speed",
        "## Machine",
    ]
    assert "after 32 timesteps (2 epochs) in 1:15: done." in text
    assert "| **best and last** | 5.00 ±" in text
    assert (
        "Videos: [epoch=01 (best policy)](videos/epoch%3D01.mp4), "
        "[epoch=02](videos/epoch%3D02.mp4), [epoch=100](videos/epoch%3D100.mp4)"
    ) in text
    assert "(curves.png)" in text
    assert (run.path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert f"--run-id {run.id}" in text


def test_the_threshold_is_the_one_that_the_run_stopped_by(run):
    assert "counts as solved" not in write(run).read_text()
    text = write(run, threshold=4.5).read_text()
    assert "The task counts as solved at a mean return of 4.5." in text


def test_a_run_without_epochs_tests_or_videos_has_a_report_too(tmp_path):
    run = make_run(tmp_path, make_config(), states=[], best=None)
    text = write(run, results={}).read_text()
    assert "after 0 timesteps (0 epochs)" in text
    assert "No test was made" in text
    assert "Videos" not in text
    assert "curves.png" not in text
    assert not (run.path / "curves.png").exists()


def test_a_report_that_cannot_be_written_is_a_storage_error(run):
    run.report_path.mkdir()
    with pytest.raises(StorageError, match=r"report\.md"):
        write(run)
