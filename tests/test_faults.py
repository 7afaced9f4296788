"""What goes wrong outside of the program ends in one line, the right exit code and a whole run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers.commands import (
    ENVS,
    Command,
    Finished,
    error_lines,
    only_run,
    play,
    processes_left,
    rows,
    small,
    train,
)
from tests.helpers.saved_states import all_finite
from utils.checkpoints import load_checkpoint
from utils.run import Run
from utils.seeding import derive_seed


def broken(name: str, **changes) -> list[str]:
    """Return the arguments of a run whose environments misbehave in its fourth epoch."""
    settings = {
        "env_id": f"{ENVS}{name}-v0",
        "env_kwargs": {"at_step": 55},
        "n_steps": 16,
        "batch_size": 32,
        "max_timesteps": 640,
        "eval_max_episode_steps": 20,
        "eval_warmup_epochs": 2,
        "eval_freq_epochs": 2,
        "checkpoint_freq_epochs": 1,
    }
    return small(**(settings | changes))


def assert_failed_whole(finished: Finished, run: Run, *, epochs: int) -> str:
    """Assert one line, exit code 3, nobody left, and checkpoints that can be used; return it."""
    (line,) = error_lines(finished)
    assert finished.code == 3, finished
    assert line.startswith("error: ")
    assert "Traceback" not in finished.err
    assert finished.out == ""
    assert processes_left(finished.session) == []
    status = run.read_status()
    assert status["status"] == "failed"
    assert line.removeprefix("error: ")[:40] in status["reason"]
    state = load_checkpoint(run.checkpoint("@last"))
    assert state["counters"]["epoch"] == epochs
    assert all_finite(state["policy"])
    assert all_finite(state["optimizer"])
    assert run.checkpoint("@last").is_file()
    assert list(run.checkpoints_dir.glob(".*")) == []
    return line


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_an_environment_raises(vectorization, tmp_path):
    finished = train(*broken("Raising", vectorization=vectorization), runs_dir=tmp_path)
    line = assert_failed_whole(finished, only_run(tmp_path), epochs=3)
    assert "tests.helpers.envs:Raising-v0" in line
    assert "ValueError" in line
    assert "the wheel came off" in line
    assert "environment 0" in line
    assert "55" in line
    assert len(rows(only_run(tmp_path))) == 3


@pytest.mark.parametrize(("by_signal", "reason"), [(None, "exit code 9"), (9, "killed by SIGKILL")])
def test_a_worker_dies(by_signal, reason, tmp_path):
    arguments = broken(
        "Dying",
        env_kwargs={"at_step": 55, "by_signal": by_signal},
        vectorization="async",
        n_workers=2,
    )
    finished = train(*arguments, runs_dir=tmp_path)
    line = assert_failed_whole(finished, only_run(tmp_path), epochs=3)
    assert "worker " in line
    assert "environments 0 to 1" in line
    assert reason in line
    assert "EOFError" not in line


def test_a_worker_hangs(tmp_path):
    arguments = broken("Hanging", vectorization="async", env_timeout_seconds=3.0)
    started = time.monotonic()
    finished = train(*arguments, runs_dir=tmp_path)
    assert time.monotonic() - started < 120
    line = assert_failed_whole(finished, only_run(tmp_path), epochs=3)
    assert "did not answer" in line
    assert "env_timeout_seconds (3)" in line


def test_a_reward_is_not_a_number(tmp_path):
    # Only in the third environment of the training ones, in the fourth epoch.
    kwargs = {"at_step": 55, "at_seed": derive_seed(0, "train") + 2, "length": 60}
    arguments = broken("NaN", env_kwargs=kwargs, eval_max_episode_steps=None)
    finished = train(*arguments, runs_dir=tmp_path)
    run = only_run(tmp_path)
    line = assert_failed_whole(finished, run, epochs=3)
    assert "reward" in line
    assert "vector step 55" in line
    assert "environment 2" in line
    assert "NaN-v0" in line
    # The second epoch was judged well before: it is still the best one, and can be played.
    assert run.checkpoint("@best").name == "epoch=02.ckpt"
    assert all_finite(load_checkpoint(run.checkpoint("@best"))["policy"])


def test_a_score_is_not_a_number(tmp_path):
    """An evaluation meets the NaN: it ends the run, and `best` does not point to it."""
    arguments = broken("NaN", eval_max_episode_steps=60, eval_warmup_epochs=3, eval_freq_epochs=3)
    finished = train(*arguments, runs_dir=tmp_path)
    line = assert_failed_whole(finished, only_run(tmp_path), epochs=2)
    assert "reward" in line
    assert not (only_run(tmp_path).checkpoints_dir / "best.ckpt").exists()


def test_training_diverges(tmp_path):
    arguments = small(policy_lr=1e30, max_grad_norm="null", checkpoint_freq_epochs=1)
    finished = train(*arguments, runs_dir=tmp_path)
    (line,) = error_lines(finished)
    assert finished.code == 3
    assert "epoch 1" in line
    assert "policy_lr" in line
    assert "nothing was saved before it" in line
    assert only_run(tmp_path).read_status()["status"] == "failed"
    assert not list(only_run(tmp_path).checkpoints_dir.iterdir()), "broken weights were saved"


def test_training_diverges_later(tmp_path):
    rate = '{"start": 0.001, "end": 1e30, "from": 0.3}'
    arguments = small(policy_lr=rate, max_grad_norm="null", checkpoint_freq_epochs=1)
    finished = train(*arguments, runs_dir=tmp_path)
    run = only_run(tmp_path)
    (line,) = error_lines(finished)
    assert finished.code == 3
    assert "the last checkpoint is from before it" in line
    status = run.read_status()
    assert status["reason"] == line.removeprefix("error: ")
    assert 0 < status["saved_timesteps"] < status["timesteps"]
    assert all_finite(load_checkpoint(run.checkpoint("@last"))["policy"])


@pytest.mark.parametrize(
    ("fault", "epochs"),
    # Saved at epochs 4, 5, 8, 10 and 12; an epoch has a row of CSV and one of JSON.
    [("full-disk-in-save:3", 5), ("full-disk-in-rows:17", 8), ("full-disk-in-rows:18", 8)],
)
def test_the_disk_is_full(fault, epochs, tmp_path):
    finished = train(*small(), runs_dir=tmp_path, fault=fault)
    run = only_run(tmp_path)
    line = assert_failed_whole(finished, run, epochs=epochs)
    assert "No space left on device" in line
    assert "completed" not in run.status_path.read_text()
    assert not run.results_path.exists()
    # Once there is room again, nothing but the work since the last save is lost.
    assert train("--resume", "@last", runs_dir=tmp_path).code == 0
    assert [row["epoch"] for row in rows(run)] == list(range(1, 13))


@pytest.fixture
def tiny_disk(tmp_path: Path):
    """Mount a file system of 200 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this system lets nobody mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_real_disk_is_full(tiny_disk):
    arguments = small(checkpoint_freq_epochs=1, eval_freq_epochs=20)
    finished = train(*arguments, runs_dir=tiny_disk / "runs")
    (line,) = error_lines(finished)
    assert finished.code == 3
    assert "No space left on device" in line
    assert finished.out == ""
    run = only_run(tiny_disk / "runs")
    assert run.read_status()["status"] in ("failed", "died")
    state = load_checkpoint(run.checkpoint("@last"))
    assert state["counters"]["epoch"] >= 1
    assert all_finite(state["policy"])
    assert list(run.checkpoints_dir.glob(".*")) == []


def test_a_runs_dir_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    finished = train(*small(), runs_dir=tmp_path / "file" / "runs")
    (line,) = error_lines(finished)
    assert finished.code in (2, 3)
    assert "cannot" in line
    assert str(tmp_path / "file") in line


def test_a_read_only_runs_dir(tiny_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    finished = train(*small(), runs_dir=tiny_disk)
    (line,) = error_lines(finished)
    assert finished.code in (2, 3)
    assert "Read-only file system" in line
    assert list(tiny_disk.iterdir()) == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, flip, empty])
def test_a_damaged_checkpoint_is_refused(damage, tmp_path):
    train(*small(max_timesteps=256), runs_dir=tmp_path)
    run = only_run(tmp_path)
    status = run.read_status()["status"]
    damage(run.checkpoint("@last"))
    for finished in (
        train("--resume", run.id, "--max-timesteps", "1024", runs_dir=tmp_path),
        play("--run-id", run.id, "--checkpoint", "@last", runs_dir=tmp_path),
        train(*small(), "--init-from-run", f"{run.id}/@last", runs_dir=tmp_path),
    ):
        (line,) = error_lines(finished)
        assert finished.code == 2, finished
        assert "epoch=02.ckpt" in line
    assert [path.name for path in tmp_path.iterdir()] == [run.id]
    assert run.read_status()["status"] == status


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", ["rollout", "epoch"])
@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_a_signal_in_the_middle_of_an_epoch(number, code, moment, vectorization, tmp_path):
    arguments = small(vectorization=vectorization, checkpoint_freq_epochs=2)
    fault = f"signal-in-{moment}:7:{int(number)}"
    finished = train(*arguments, runs_dir=tmp_path, fault=fault)
    assert finished.code == code, finished
    assert processes_left(finished.session) == []
    run = only_run(tmp_path)
    assert run.read_status()["status"] == "interrupted"
    # The running epoch was finished, learnt from and saved.
    counters = load_checkpoint(run.checkpoint("@last"))["counters"]
    assert counters["epoch"] == 7
    assert (counters["timesteps"], counters["updates"]) == (7 * 128, 7 * 4)
    assert [row["epoch"] for row in rows(run)] == [1, 2, 3, 4, 5, 6, 7]
    assert finished.out == ""
    *_, line = error_lines(finished)
    assert f"train.py --resume {run.path}" in line
    assert "Traceback" not in finished.err
    assert not run.results_path.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_stops_at_once(number, code, tmp_path):
    arguments = small(checkpoint_freq_epochs=2)
    finished = train(*arguments, runs_dir=tmp_path, fault=f"signal-in-epoch:7:{int(number)}:2")
    assert finished.code == code, finished
    assert "Traceback" not in finished.err
    run = only_run(tmp_path)
    *_, line = error_lines(finished)
    assert line.endswith(
        f"stopped by {number.name} in the middle of an epoch; "
        f"saved {run.path} at 768 timesteps; go on with: python train.py --resume {run.path}"
    )
    status = run.read_status()
    assert status["status"] == "interrupted"
    assert status["reason"] == f"stopped by {number.name} in the middle of an epoch"
    assert (status["timesteps"], status["saved_timesteps"]) == (7 * 128, 6 * 128)
    assert load_checkpoint(run.checkpoint("@last"))["counters"]["epoch"] == 6
    assert train("--resume", "@last", runs_dir=tmp_path).code == 0
    assert [row["epoch"] for row in rows(run)] == list(range(1, 13))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_from_outside(number, code, tmp_path):
    """Someone stops a long run whose environments are processes, while it is stepping them."""
    arguments = small(
        vectorization="async", n_workers=2, max_timesteps=10**7, checkpoint_freq_epochs=10**6
    )
    command = Command("train", "-q", "--runs-dir", str(tmp_path), *arguments)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = list(tmp_path.glob("*/metrics.jsonl"))
        if found and found[0].read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.01)
    os.killpg(command.pid, number)  # terminals and job schedulers send it to the whole group
    finished = command.wait(20)
    assert finished.code == code, finished
    assert processes_left(finished.session) == []
    run = only_run(tmp_path)
    assert run.read_status()["status"] == "interrupted"
    epochs = load_checkpoint(run.checkpoint("@last"))["counters"]["epoch"]
    assert epochs >= 3
    assert [row["epoch"] for row in rows(run)] == list(range(1, epochs + 1))


def test_nothing_is_promised_where_nothing_is_saved(tmp_path):
    finished = train(*small(), runs_dir=tmp_path, fault="signal-in-epoch:1:2:2")
    assert finished.code == 130
    *_, line = error_lines(finished)
    assert "nothing was saved yet" in line
    assert "--resume" not in line
    status = only_run(tmp_path).read_status()
    assert (status["status"], status["saved_timesteps"]) == ("interrupted", None)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", ["before-training", "to-lightning"])
def test_a_signal_while_training_starts(number, code, moment, tmp_path):
    finished = train(*small(), runs_dir=tmp_path, fault=f"signal-{moment}:{int(number)}")
    assert finished.code == code, finished
    assert "Traceback" not in finished.err
    assert "KeyboardInterrupt" not in finished.err
    status = only_run(tmp_path).read_status()
    assert status["status"] == "interrupted"
    assert number.name in status["reason"]
    assert status["timesteps"] == 128
    assert finished.out == ""


def test_a_signal_after_training_is_no_interruption(tmp_path):
    """The policy is trained and saved: the test of it may end, the run is complete."""
    finished = train(*small(max_timesteps=256), runs_dir=tmp_path, fault="signal-in-test:2")
    run = only_run(tmp_path)
    assert load_checkpoint(run.checkpoint("@last"))["counters"]["epoch"] == 2
    assert (finished.code, run.read_status()["status"]) == (0, "completed")
    assert "training is over and saved" in finished.err
    assert "Traceback" not in finished.err


@pytest.mark.parametrize("test_episodes", [4, 0])
@pytest.mark.parametrize(("times", "code"), [(1, 0), (2, 130)])
def test_a_signal_while_the_report_is_written(test_episodes, times, code, tmp_path):
    arguments = small(max_timesteps=256, test_episodes=test_episodes)
    finished = train(*arguments, runs_dir=tmp_path, fault=f"signal-in-report:2:{times}")
    run = only_run(tmp_path)
    assert (finished.code, run.read_status()["status"]) == (code, "completed"), finished
    assert run.read_status()["reason"] == "max_timesteps reached"
    assert run.results_path.is_file()
    assert "Traceback" not in finished.err


def test_an_interrupted_run_has_a_report(tmp_path):
    arguments = ("train", "-q", "--runs-dir", str(tmp_path), *small())
    finished = Command(*arguments, fault="signal-in-epoch:7:2", reports=True).wait()
    assert finished.code == 130, finished
    text = only_run(tmp_path).report_path.read_text()
    assert "Training ended after 896 timesteps (7 epochs)" in text
    assert "interrupted by SIGINT" in text
    assert "its policies were not tested" in text
