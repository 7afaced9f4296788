"""W&B by its real client: offline files read back, and a server on this machine.

Its settings belong to the process, so each scenario is a process of its own.
"""

import json
import math
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.commands import Command, csv_rows, only_run, rows, small
from tests.helpers.wandb_files import read_wandb_files
from tests.helpers.wandb_server import Server, client_environment
from utils.loggers import wandb_service
from utils.loggers.jsonl import read_jsonl
from utils.loggers.wandb import sync_command

pytest.importorskip("wandb")
ROOT = Path(__file__).resolve().parents[3]


def train(*arguments, runs_dir, environment, fault=None):
    argv = ("train", "-q", "--runs-dir", str(runs_dir), *arguments)
    return Command(*argv, fault=fault, environment=environment)


def plain(**changes):
    """Return the arguments of a small run that compiles nothing, which may take a minute."""
    shape = {"vectorization": "sync", "policy_kwargs.activation": "silu"}
    return small(**{"wandb": True, **shape, **changes})


def expected_rows(run):
    """Return the rows of metrics.jsonl under the names that trackers get."""
    expected = read_jsonl(run.metrics_jsonl)
    for row in expected:
        row["train/cnt/epoch"] = row.pop("epoch")
        row["train/cnt/timesteps"] = row.pop("timesteps")
    return expected


def test_an_offline_run_holds_every_metric_video_and_checkpoint(tmp_path):
    environment = client_environment(tmp_path)
    arguments = plain(wandb=None, video="last", description="a note")
    done = train(
        *arguments, "--tracker", "wandb", runs_dir=tmp_path / "runs", environment=environment
    ).wait()
    assert done.code == 0, done.err
    run = only_run(tmp_path / "runs")
    (folder,) = run.path.glob("wandb/offline-run-*")
    assert [line for line in done.err.splitlines() if line.startswith("note:")] == [
        f"note: W&B: no key (wandb login), so offline; send it later with: wandb sync {folder}"
    ]
    (file,) = read_wandb_files(run.path)
    assert file.run == {
        "id": run.id,
        "project": "gymnasium-solver",
        "name": run.id,
        "group": "CartPole-v1:ppo",
        "tags": ["CartPole-v1", "ppo"],
    }
    assert file.config == run.read_config_dict()
    assert file.exit_code == 0
    # One row per line of the CSV, each metric under one step axis.
    assert file.rows == expected_rows(run)
    assert len(file.rows) == len(csv_rows(run)) == 12
    assert file.step_metrics == {"train/cnt/timesteps": "", "*": "train/cnt/timesteps"}
    # The film is whole and stands where the policy was filmed.
    (film,) = [row for row in file.history if "val/video/episode" in row]
    stored = folder / "files" / film["val/video/episode"]["path"]
    assert stored.read_bytes() == (run.videos_dir / "epoch=12.mp4").read_bytes()
    assert film["train/cnt/timesteps"] == 1536
    assert file.summary["train/cnt/timesteps"] == 1536
    check_artifacts(run, file.artifacts)
    results = json.loads(run.results_path.read_text())
    best = max(row.get("val/roll/ep_rew_mean", -math.inf) for row in read_jsonl(run.metrics_jsonl))
    assert file.summary["val/best/ep_rew_mean"] == best
    assert file.summary["test/last/ep_rew_mean"] == results["test"]["last"]["mean"]
    assert file.summary["train/total/timesteps"] == 1536
    assert file.summary["stop_reason"] == "max_timesteps reached"
    # Being watched changes nothing.
    alone = plain(wandb=None, description="a note")
    done = train(*alone, runs_dir=tmp_path / "alone", environment=environment).wait()
    assert done.code == 0, done.err
    assert rows(run) == rows(only_run(tmp_path / "alone"))


def check_artifacts(run, artifacts):
    """Best and last are versions of one artifact, each a folder that run_play.py opens."""
    by_alias = {alias: artifact for artifact in artifacts for alias in artifact["aliases"]}
    assert set(by_alias) == {"best", "last"}
    for alias in ("best", "last"):
        artifact = by_alias[alias]
        assert (artifact["name"], artifact["type"]) == (f"checkpoint-{run.id}", "model")
        checkpoint = run.checkpoint(f"@{alias}")
        files = artifact["files"]
        assert files["config.json"] == run.config_path
        assert files[f"checkpoints/{checkpoint.name}"] == checkpoint
        pointer = files[f"checkpoints/{alias}.ckpt"].read_text()
        assert pointer == f"checkpoint pointer: {checkpoint.name}\n"


@pytest.mark.slow
def test_a_resumed_run_stays_one_run_with_each_row_once(tmp_path):
    with Server() as server:
        environment = server.environment(tmp_path)
        runs_dir = tmp_path / "runs"
        arguments = plain(checkpoint_freq_epochs=4, video="every")
        killed = train(
            *arguments, runs_dir=runs_dir, environment=environment, fault="kill-in-epoch:11"
        ).wait()
        assert killed.code == -signal.SIGKILL, killed.err
        run = only_run(runs_dir)
        n_before = len(read_jsonl(run.metrics_jsonl))
        assert n_before > 8  # rows beyond the checkpoint are written again
        done = train("--resume", run.id, runs_dir=runs_dir, environment=environment).wait()
        assert done.code == 0, done.err
        state = server.state()
    assert state["unknown"] == []
    assert list(state["runs"]) == [run.id]
    sent = state["runs"][run.id]
    epochs = [row["train/cnt/epoch"] for row in sent["history"] if "train/cnt/epoch" in row]
    assert epochs == list(range(1, 13))
    films = [row for row in sent["history"] if "val/video/episode" in row]
    assert len(films) == 3
    assert {"best", "last"} <= {a for item in state["artifacts"].values() for a in item["aliases"]}
    assert all(item["state"] == "COMMITTED" for item in state["artifacts"].values())


@pytest.mark.slow
def test_a_server_that_dies_keeps_nobody_waiting(tmp_path):
    with Server() as server:
        environment = server.environment(tmp_path)
        runs_dir = tmp_path / "runs"
        command = train(
            *plain(max_timesteps=25_600, eval_freq_epochs=100),
            runs_dir=runs_dir,
            environment=environment,
        )
        while not list(runs_dir.glob("*/metrics.csv")):
            assert command.poll() is None
            time.sleep(0.05)
        server.kill()
        done = command.wait()
    run = only_run(runs_dir)
    ended = run.path / "results.json"
    waited = time.time() - ended.stat().st_mtime
    assert done.code == 0, done.err
    assert waited < 120.0  # some 15 seconds where nothing else runs; W&B itself would wait on
    (file,) = read_wandb_files(run.path)
    assert file.rows == expected_rows(run)
    (folder,) = run.path.glob("wandb/run-*")
    assert f"send it with: wandb sync --no-skip-online {folder}" in done.err
    check_that_it_can_be_sent(run, done.err, tmp_path)


def check_that_it_can_be_sent(run, told, folder):
    """Do what the notes say, with a server that answers again."""
    commands = [line.partition("with: ")[2] for line in told.splitlines() if "with: " in line]
    assert len(commands) == 2
    with Server() as server:
        environment = os.environ | server.environment(folder)
        for command in commands:
            program, *words = shlex.split(command)
            assert program == "wandb"
            done = subprocess.run(
                [sys.executable, "-m", "wandb", *words],
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        state = server.state()
    epochs = [row.get("train/cnt/epoch") for row in state["runs"][run.id]["history"]]
    assert epochs == list(range(1, 201))
    (artifact,) = state["artifacts"].values()
    assert (artifact["name"], artifact["state"]) == (f"checkpoint-{run.id}", "COMMITTED")
    assert {path.name for path in run.list_checkpoints()} <= set(artifact["files"])


@pytest.mark.slow
@pytest.mark.parametrize("is_listening", [False, True], ids=["refuses", "says nothing"])
def test_without_an_answer_the_run_stays_offline(tmp_path, is_listening):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if is_listening:
            server.listen()
        environment = client_environment(tmp_path) | {
            "WANDB_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
            "WANDB_API_KEY": "0" * 40,
        }
        done = train(*plain(), runs_dir=tmp_path / "runs", environment=environment).wait(120.0)
    assert done.code == 0, done.err
    assert "no answer within 20 s, so this run stays offline" in done.err
    run = only_run(tmp_path / "runs")
    attempt, offline = read_wandb_files(run.path)
    assert len(attempt.rows) == 0
    assert len(offline.rows) == 12


def test_what_a_killed_process_has_not_written_the_next_one_writes_offline(tmp_path):
    environment, runs_dir = client_environment(tmp_path), tmp_path / "runs"
    arguments = plain(checkpoint_freq_epochs=10)
    killed = train(
        *arguments, runs_dir=runs_dir, environment=environment, fault="kill-in-epoch:12"
    ).wait()
    assert killed.code == -signal.SIGKILL, killed.err
    run = only_run(runs_dir)
    done = train("--resume", run.id, runs_dir=runs_dir, environment=environment).wait()
    assert done.code == 0, done.err
    first, second = read_wandb_files(run.path)
    # W&B's process writes in blocks, so that the first file lacks most of its rows.
    assert first.rows + second.rows == expected_rows(run)
    # What is told sends both.
    folders = sorted(run.path.glob("wandb/offline-run-*"))
    assert f"send it later with: wandb sync {folders[0]} {folders[1]}\n" in done.err


ALERTS = """
import sys
from pathlib import Path
from utils.loggers import RunResult, TrackioWriter, WandbWriter
from utils.metrics.monitor import Alert
folder = Path(sys.argv[1])
alert = Alert(
    key="train/grad/norm", value=2.0, epoch=3, bound="above 1", message="it grows",
    causes=("a",), fixes=("b",),
)
for tracker in (
    WandbWriter(project="p", run_id="r", run_dir=folder, config_dict={}),
    TrackioWriter(project="p", run_id="r", config_dict={}),
):
    tracker.write({"a": 1.0}, epoch=3, timesteps=300)
    tracker.alert(alert)
    summary = {"train/total/timesteps": 400}
    tracker.write_result(RunResult(summary=summary, config_path=folder / "config.json"))
    tracker.mark_failed()
    tracker.close()
    tracker.close()
import trackio
(found,) = trackio.SQLiteStorage.get_alerts("p")
print(found["title"], found["step"], found["text"])
"""


def test_alerts_results_and_failures_reach_the_trackers(tmp_path):
    pytest.importorskip("trackio")
    environment = client_environment(tmp_path) | {"TRACKIO_DIR": str(tmp_path / "trackio")}
    done = subprocess.run(
        [sys.executable, "-c", ALERTS, str(tmp_path)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "train/grad/norm 300 it grows (2, above 1, epoch 3)\n"
    (file,) = read_wandb_files(tmp_path)
    assert (file.alerts, file.exit_code) == (["train/grad/norm"], 1)
    assert file.summary["train/cnt/timesteps"] == 400  # where training ended, not the last row


def test_a_mistaken_variable_is_one_line(tmp_path):
    environment = client_environment(tmp_path) | {"WANDB_MODE": "onlin"}
    done = train(*plain(), runs_dir=tmp_path / "runs", environment=environment).wait()
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith("error: a WANDB_... environment variable is not valid: mode Input")
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_service_that_had_to_be_killed_does_not_end_the_training_with_it(monkeypatch):
    import wandb

    def end_this_process():
        sys.exit(-9)

    monkeypatch.setattr(wandb, "teardown", end_this_process)
    monkeypatch.setattr(wandb_service, "FINISH_SECONDS", 0.0)
    monkeypatch.setattr(wandb_service, "_PROBE_SECONDS", 0.01)
    never = threading.Event()
    run = SimpleNamespace(offline=True, disabled=False, finish=lambda exit_code: never.wait())
    assert wandb_service.finish(run, 0) is False


def test_the_command_that_sends_what_was_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    offline, online = tmp_path / "wandb" / "offline-run-1", tmp_path / "wandb" / "run-1"
    assert sync_command(offline) == "wandb sync wandb/offline-run-1"
    assert sync_command(online) == "wandb sync --no-skip-online wandb/run-1"
    assert sync_command(Path("/x y/run-1")) == "wandb sync --no-skip-online '/x y/run-1'"
