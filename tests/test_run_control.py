"""Requests to real trainings: what they do, and that they change no number."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from agents.training import train
from tests.helpers.agents import ENVS
from tests.helpers.commands import ROOT, Command, only_run, rows, small
from tests.helpers.saved_states import state_differences
from tests.helpers.terminal_session import TerminalSession
from trainer_callbacks.hyperparameter_scheduler import HyperparameterScheduler
from utils.checkpoints import load_checkpoint
from utils.config import config_from_dict
from utils.run.control import AnswerReader, post_request
from utils.run.plan import TrainingPlan

STARTING_SECONDS = 90.0
"""How long a program may take to begin on a busy machine."""
BASE = {
    "schema_version": 2,
    "config_id": "Toy-v0:ppo",
    "algo_id": "ppo",
    "n_envs": 4,
    "n_steps": 16,
    "batch_size": 32,
    "n_epochs": 1,
    "max_timesteps": 384,
    "policy_lr": 1e-3,
    "policy_kwargs": {"hidden_dims": [8]},
    "eval_episodes": 2,
    "eval_n_envs": 2,
    "eval_freq_epochs": None,
    "test_episodes": 2,
    "video": "none",
    "keep_checkpoints": 100,
}
LOOPS = {
    "step by step": {"env_id": f"{ENVS}Identity-v0"},
    "compiled": {"env_id": "CartPole-v1", "vectorization": "simd"},
    "tensors": {"env_id": "CartPole-v1", "vectorization": "torch", "device": "cpu"},
    "memory": {
        "env_id": "CartPole-v1",
        "vectorization": "sync",
        "policy_kwargs": {"hidden_dims": [8], "memory": "gru"},
        "sequence_length": 8,
        "batch_size": 32,
    },
    "reinforce": {"env_id": "CartPole-v1", "vectorization": "sync", "algo_id": "reinforce"},
}


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    monkeypatch.setattr("agents.training.write_report", lambda *args, **kwargs: None)


def config_of(loop):
    settings = BASE | LOOPS[loop]
    if settings["algo_id"] == "reinforce":
        settings = {
            k: v for k, v in settings.items() if k not in ("n_steps", "batch_size", "n_epochs")
        }
    return config_from_dict(settings)


def run_training(config, runs_dir, monkeypatch, asked=()):
    """Train; ask for `{epoch: kind}` while that epoch runs."""
    original = HyperparameterScheduler.on_train_epoch_start

    def asking(self, trainer, agent):
        for epoch, kind in asked:
            if agent.counters.epoch == epoch - 1:
                post_request(agent.run, kind, origin="a test")
        original(self, trainer, agent)

    with monkeypatch.context() as patch:
        patch.setattr(HyperparameterScheduler, "on_train_epoch_start", asking)
        code = train(TrainingPlan(config=config, runs_dir=runs_dir, is_quiet=True))
    return code, only_run(runs_dir)


def numbers(run, *, without="val/"):
    return [
        {key: value for key, value in row.items() if not key.startswith(without)}
        for row in rows(run)
    ]


@pytest.mark.parametrize(
    "loop",
    [
        "step by step",
        "compiled",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("tensors", "memory", "reinforce")
        ),
    ],
)
def test_evaluating_and_saving_now_train_the_same_weights(tmp_path, monkeypatch, loop):
    config = config_of(loop)
    _, undisturbed = run_training(config, tmp_path / "a", monkeypatch)
    asked = [(2, "evaluate"), (3, "save")]
    code, run = run_training(config, tmp_path / "b", monkeypatch, asked)
    assert code == 0
    assert numbers(run) == numbers(undisturbed)
    assert [row["epoch"] for row in rows(run) if "val/roll/ep_rew_mean" in row] == [2]
    names = [path.stem for path in run.list_checkpoints()]
    assert names[:2] == ["epoch=02", "epoch=03"]
    assert run.checkpoint("@best").stem == "epoch=02"
    states = [load_checkpoint(r.checkpoint("@last")) for r in (undisturbed, run)]
    for key in ("policy", "optimizer", "counters"):
        assert state_differences(states[0][key], states[1][key]) == []
    texts = [answer.text for answer in AnswerReader(run).read()]
    assert texts[0].startswith("evaluated at epoch 2: mean return ")
    assert texts[1].startswith("saved epoch=03.ckpt at ")


@pytest.mark.parametrize(
    "loop", ["step by step", "compiled", pytest.param("tensors", marks=pytest.mark.slow)]
)
def test_a_stopped_run_is_saved_and_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch, loop):
    config = config_of(loop)
    _, undisturbed = run_training(config, tmp_path / "a", monkeypatch)
    code, run = run_training(config, tmp_path / "b", monkeypatch, [(3, "stop")])
    assert code == 128 + signal.SIGINT
    status = run.read_status()
    assert (status["status"], status["reason"]) == ("interrupted", "stopped by a person")
    assert not run.results_path.exists()
    assert len(rows(run)) == 3
    plan = TrainingPlan(
        config=config,
        runs_dir=tmp_path / "b",
        resumed_run=run,
        checkpoint=run.checkpoint("@last"),
        is_quiet=True,
    )
    assert train(plan) == 0
    assert numbers(run) == numbers(undisturbed)


def test_what_was_saved_on_request_survives_a_kill(tmp_path):
    command = Command("train", "-q", "--runs-dir", str(tmp_path), *endless())
    run = wait_for_rows(tmp_path, 3)
    request = post_request(run, "save", origin="a test")
    reader, answers = AnswerReader(run), []
    while not answers:
        answers = reader.read()
    command.send(signal.SIGKILL)
    command.wait()
    assert answers[0].id == request.id
    saved = run.checkpoint("@last")
    assert saved.name in answers[0].text
    assert run.list_checkpoints() == [saved]
    assert load_checkpoint(saved)["counters"]["epoch"] > 2


def endless(**changes):
    """Return the arguments of a run that does not end by itself or save by itself."""
    settings = {
        "max_timesteps": 10**8,
        "checkpoint_freq_epochs": None,
        "eval_freq_epochs": 10**6,
        "eval_warmup_epochs": None,
        "early_stop_on_eval_reward": "false",
    }
    return small(**(settings | changes))


def wait_for_rows(runs_dir, n_rows):
    deadline = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < deadline:
        runs = list(runs_dir.glob("*/metrics.jsonl"))
        if runs and runs[0].read_text().count("\n") >= n_rows:
            return only_run(runs_dir)
        time.sleep(0.01)
    raise AssertionError(f"not {n_rows} epochs in {STARTING_SECONDS} s")


def start_training(tmp_path, *arguments):
    return TerminalSession(
        sys.executable,
        str(ROOT / "train.py"),
        "--runs-dir",
        str(tmp_path),
        *arguments,
        OMP_NUM_THREADS="1",
        NO_COLOR="1",
    )


def test_keys_in_a_terminal(tmp_path):
    with start_training(tmp_path, *endless()) as session:
        hint = "^keys: s save now, e evaluate now, q stop after this epoch"
        session.expect(hint, seconds=STARTING_SECONDS)
        session.expect("training episodes")
        session.type("s")
        saved = session.expect(r"^saved (epoch=\d+\.ckpt) at [\d,]+ timesteps \(key s\)")[1]
        session.type("e")
        session.expect(r"^evaluated at epoch \d+: mean return [\d.]+ \(4 episodes\) \(key e\)")
        session.type("h")
        session.expect("^keys: s save now")
        session.type("q")
        session.expect(r"^stopping: epoch \d+ is the last one, and is saved \(key q\)")
        session.expect(r"^saved .* at [\d,]+ timesteps; go on with: python train\.py --resume ")
        assert session.wait() == 130
        assert session.is_plain()
    run = only_run(tmp_path)
    assert run.read_status()["status"] == "interrupted"
    assert saved in [path.name for path in run.list_checkpoints()]
    evaluated = [row for row in rows(run) if "val/roll/ep_rew_mean" in row]
    assert len(evaluated) == 1
    assert "evaluated at epoch" in run.log_path.read_text()


def test_keys_of_a_quiet_run_and_ctrl_c(tmp_path):
    with start_training(tmp_path, "-q", *endless()) as session:
        wait_for_rows(tmp_path, 3)
        assert not session.is_plain()
        session.type("s")
        session.expect(r"^saved epoch=\d+\.ckpt at [\d,]+ timesteps$")
        session.type("\x03")
        session.expect("^SIGINT: stopping after this epoch")
        assert session.wait() == 130
        assert session.is_plain()
    assert "keys:" not in session.seen


def test_debugging_leaves_the_keys_alone(tmp_path):
    settings = endless(batch_size=1.0)
    with start_training(tmp_path, "--debug", *settings) as session:
        wait_for_rows(tmp_path, 3)
        assert session.is_plain()
        session.type("q\n")
        session.read_for(0.5)
        assert os.waitpid(session.pid, os.WNOHANG) == (0, 0)
    assert "keys:" not in session.seen
