import shlex

import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.config.cli import parse_train_args
from utils.errors import StorageError
from utils.loggers import JsonlWriter
from utils.reports import write_report
from utils.rollouts import EvaluationResult
from utils.run.plan import plan_training
from utils.storage import write_json

RESULT = EvaluationResult(
    returns=[4.0, 6.0], lengths=[4, 6], n_unfinished=0, seconds=0.1, seed=9, is_deterministic=True
)


@pytest.fixture
def run(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}, {}], best=1)
    metrics = JsonlWriter(run.metrics_jsonl)
    for epoch in (1, 2):
        row = {"train/roll/ep_rew_mean": float("nan"), "train/loss/policy": 0.5}
        row["train/time/elapsed_seconds"] = 37.5 * epoch
        metrics.write(row, epoch=epoch, timesteps=16 * epoch)
    metrics.close()
    run.write_environment_facts(device="cpu", torch_threads=1)
    return run


def write(run, **changes):
    options = {
        "results": {"best": RESULT, "last": RESULT},
        "solved_threshold": None,
        "stop_threshold": None,
        "stop_reason": "done",
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
    assert "after 32 timesteps (2 epochs) in 1:15 of training: done." in text
    assert "| **best and last** | 5.00 ±" in text
    assert (
        "Videos: [epoch=01 (best policy)](videos/epoch%3D01.mp4), "
        "[epoch=02](videos/epoch%3D02.mp4), [epoch=100](videos/epoch%3D100.mp4)"
    ) in text
    assert "(curves.png)" in text
    assert (run.path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert f"--run-id {run.id}" in text


def test_solved_is_the_task_and_not_where_the_run_stops(run):
    assert "counts as solved" not in write(run).read_text()
    text = write(run, solved_threshold=4.5, stop_threshold=4.5).read_text()
    assert "The task counts as solved at a mean return of 4.5." in text
    assert "stop early" not in text
    text = write(run, solved_threshold=4.5, stop_threshold=5.5).read_text()
    assert "The task counts as solved at a mean return of 4.5." in text
    assert "The run was to stop early at a mean return of 5.5." in text


def test_one_time_is_told(run):
    text = write(run).read_text()
    assert "in 1:15 of training: done." in text
    assert "timesteps per second, 1:15 of training." in text


def test_an_interrupted_run_has_a_report_without_a_test(run):
    text = write(run, results=None, stop_reason="interrupted by SIGINT").read_text()
    assert "interrupted by SIGINT" in text
    assert "its policies were not tested" in text
    assert "test_episodes" not in text.split("## Curves")[0]
    assert f"train.py --resume {run.id}" in text
    assert "--max-timesteps" not in text.split("## Alerts")[0]


def commands_of(run, **changes):
    return [line for line in write(run, **changes).read_text().splitlines() if "train.py" in line]


@pytest.mark.parametrize(
    ("reason", "results"),
    [
        ("max_timesteps reached", {}),
        ("mean return 480.00 in evaluation", {}),  # a goal, before its time
        ("all phases completed", {}),
        ("interrupted by SIGINT", None),
    ],
)
def test_every_command_that_the_report_gives_is_accepted(run, reason, results):
    run.write_status("interrupted" if results is None else "completed", reason=reason)
    write_json(run.checkpoints_dir / "epoch=02.json", {"counters": {"timesteps": 32}})
    told = commands_of(run, results=results, stop_reason=reason)
    resuming = [line for line in told if "--resume" in line]
    assert len(resuming) == (reason != "all phases completed")
    for line in resuming:
        command = shlex.split(line.partition("#")[0])
        plan = plan_training(parse_train_args(command[2:], environ={}))
        assert plan.resumed_run.path == run.path
    assert len(told) == len(resuming) + 1  # and one that begins a new run


def test_a_run_without_epochs_tests_or_videos_has_a_report_too(tmp_path):
    run = make_run(tmp_path, make_config(), states=[], best=None)
    text = write(run, results={}).read_text()
    assert "after 0 timesteps (0 epochs)" in text
    assert "No test was made" in text
    assert "Videos" not in text
    assert "curves.png" not in text
    assert not (run.path / "curves.png").exists()


def test_a_run_whose_best_policy_is_gone_has_a_report_too(run):
    run.videos_dir.mkdir()
    (run.videos_dir / "epoch=02.mp4").touch()
    (run.checkpoints_dir / "best.ckpt").unlink()
    text = write(run).read_text()
    assert "Videos: [epoch=02](videos/epoch%3D02.mp4)" in text
    assert "(best policy)" not in text


def test_a_report_that_cannot_be_written_is_a_storage_error(run):
    run.report_path.mkdir()
    with pytest.raises(StorageError, match=r"report\.md"):
        write(run)


def test_films_of_dreams_are_linked_beside_their_films(run):
    run.videos_dir.mkdir()
    for name in ("epoch=02.mp4", "epoch=01.mp4", "dream-epoch=01.mp4", "dream-epoch=07.mp4"):
        (run.videos_dir / name).touch()
    text = write(run).read_text()
    assert "Videos: [epoch=01 (best policy)](videos/epoch%3D01.mp4), [epoch=02]" in text
    line = (
        "Dreams beside what happened: [dream-epoch=01 (best policy)](videos/dream-epoch%3D01.mp4)\n"
    )
    assert line in text
