"""One run from plan to result, in this process."""

from __future__ import annotations

import json
import os
import pty
import signal
import threading
from pathlib import Path

import pytest
import torch

from agents import training
from agents.training import resolve_machine, train
from tests.helpers.agents import ENVS
from tests.helpers.saved_states import all_finite
from tests.helpers.screen import Screen
from utils.checkpoints import load_checkpoint
from utils.config import PPOConfig, REINFORCEConfig, config_from_dict
from utils.errors import CheckpointError, ConfigError
from utils.run import Run
from utils.run.plan import TrainingPlan


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    monkeypatch.setattr("agents.training.write_report", lambda *args, **kwargs: None)


def make_config(env_id: str = f"{ENVS}Identity-v0", **changes):
    settings = {
        "schema_version": 2,
        "config_id": "Toy-v0:ppo",
        "algo_id": "ppo",
        "env_id": env_id,
        "n_envs": 2,
        "n_steps": 8,
        "batch_size": 8,
        "n_epochs": 1,
        "max_timesteps": 64,
        "policy_lr": 1e-3,
        "policy_kwargs": {"hidden_dims": [8]},
        "eval_episodes": 2,
        "eval_warmup_epochs": 2,
        "eval_freq_epochs": 2,
        "test_episodes": 3,
        "video": "none",
    }
    return config_from_dict(settings | changes)


def run_training(config, runs_dir, **plan) -> Run:
    code = train(TrainingPlan(config=config, runs_dir=runs_dir, is_quiet=True, **plan))
    assert code == 0
    return max((Run(path) for path in runs_dir.iterdir()), key=lambda run: run.path.stat().st_mtime)


def test_a_run_leaves_everything_that_others_read(tmp_path, capsys):
    run = run_training(make_config(), tmp_path)
    assert run.read_status()["status"] == "completed"
    assert run.read_status()["timesteps"] == 64
    assert config_from_dict(run.read_config_dict()) == make_config()
    assert {path.name for path in run.list_checkpoints()} == {"epoch=02.ckpt", "epoch=04.ckpt"}
    assert run.checkpoint("@last").name == "epoch=04.ckpt"
    described = json.loads(run.checkpoint("@last").with_suffix(".json").read_text())
    assert described["counters"]["timesteps"] == 64
    assert described["metrics"]["train/cnt/epoch"] == 4
    results = json.loads(run.results_path.read_text())
    assert (results["timesteps"], results["seed"]) == (64, 0)
    assert results["stop_reason"] == "max_timesteps reached"
    rows = [json.loads(line) for line in run.metrics_jsonl.read_text().splitlines()]
    assert results["training_seconds"] == rows[-1]["train/time/elapsed_seconds"]
    assert results["process_seconds"] > results["training_seconds"]
    for name in ("best", "last"):
        test = results["test"][name]
        assert len(test["returns"]) == 3
        assert test["mean"] == pytest.approx(sum(test["returns"]) / 3)
        assert test["is_deterministic"] is True
    assert "mean return" in capsys.readouterr().out


def test_best_and_last_policy_are_tested_on_the_same_episodes(tmp_path, monkeypatch):
    seeds = []
    from utils.rollouts import evaluation

    original = evaluation.evaluate_policy

    def noting(policy, env, **kwargs):
        result = original(policy, env, **kwargs)
        seeds.append((kwargs["n_episodes"], result.seed))
        return result

    monkeypatch.setattr("agents.base_agent.evaluate_policy", noting)
    run = run_training(make_config(policy_lr=0.5, seed=3), tmp_path)
    tests = [seed for n_episodes, seed in seeds if n_episodes == 3]
    names = {run.checkpoint("@best").name, run.checkpoint("@last").name}
    assert len(tests) == len(names)
    assert len(set(tests)) == 1
    evaluations = [seed for n_episodes, seed in seeds if n_episodes == 2]
    assert len({*evaluations, *tests}) == 3


def test_a_run_without_evaluation_keeps_its_last_policy_as_the_best(tmp_path):
    config = make_config(eval_freq_epochs=None, test_episodes=0)
    run = run_training(config, tmp_path)
    assert run.checkpoint("@best") == run.checkpoint("@last")
    assert json.loads(run.results_path.read_text())["test"] == {}


def test_training_ends_when_the_goal_is_reached(tmp_path):
    config = make_config(early_stop_on_eval_reward=True, reward_threshold=0.0)
    run = run_training(config, tmp_path)
    assert load_checkpoint(run.checkpoint("@last"))["counters"]["epoch"] == 2
    assert "reached the threshold 0" in run.read_status()["reason"]


def test_a_notice_stays_readable_above_the_table(tmp_path, monkeypatch):
    """Ctrl-C at a terminal on which the table is being redrawn."""
    from agents.on_policy_agent import OnPolicyAgent

    original = OnPolicyAgent.collect_rollout

    def interrupted(self):
        if self.counters.epoch == 3:
            os.write(terminal, b"^C")  # as the terminal itself shows it
            os.kill(os.getpid(), signal.SIGINT)
        return original(self)

    monkeypatch.setattr(OnPolicyAgent, "collect_rollout", interrupted)
    monkeypatch.setenv("TERM", "xterm")
    keyboard, terminal = pty.openpty()
    seen = bytearray()
    reader = threading.Thread(target=read_until_closed, args=(keyboard, seen))
    reader.start()
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setattr("sys.stderr", stream)
        config = make_config(max_timesteps=160, log_interval_seconds=1e-3)
        assert train(TrainingPlan(config=config, runs_dir=tmp_path)) == 130
        monkeypatch.undo()
    reader.join()
    os.close(keyboard)
    screen = Screen(columns=1000)
    screen.write(seen.decode())
    text = "\n".join(screen.lines)
    assert text.count("SIGINT: stopping after this epoch") == 1
    assert text.count("Toy-v0:ppo   ") == 1, "one table"
    assert text.index("SIGINT: stopping") < text.index("Toy-v0:ppo   ")
    assert "epoch 4 " in text
    assert "--resume" in text.partition("epoch 4 ")[2]


def read_until_closed(descriptor, seen):
    while True:
        try:
            seen += os.read(descriptor, 65536)
        except OSError:
            return


def test_an_evaluation_that_never_ends_does_not_hold_training_up(tmp_path):
    config = make_config(
        f"{ENVS}Counting-v0",
        env_kwargs={"length": 10**9},
        eval_timeout_seconds=0.05,
        test_episodes=3,
    )
    run = run_training(config, tmp_path)
    rows = [json.loads(line) for line in run.metrics_jsonl.read_text().splitlines()]
    assert len(rows) == 4
    assert rows[1]["val/roll/n_unfinished"] == 2
    assert "val/roll/ep_rew_mean" not in rows[1]
    test = json.loads(run.results_path.read_text())["test"]["last"]
    assert (test["mean"], test["returns"], test["n_unfinished"]) == (None, [], 3)
    assert run.checkpoint("@best") == run.checkpoint("@last")


def test_returns_are_those_of_the_environment_not_of_the_learner(tmp_path):
    config = make_config(
        f"{ENVS}RewardList-v0",
        env_kwargs={"rewards": [5.0, 5.0, -3.0]},
        env_wrappers=[{"id": "ClipReward"}],
        n_steps=9,
        batch_size=9,
    )
    run = run_training(config, tmp_path)
    rows = [json.loads(line) for line in run.metrics_jsonl.read_text().splitlines()]
    for row in rows:
        assert row["train/roll/ep_rew_mean"] == 7.0
        # 1, 1 and -1
        assert row["train/roll/learner_reward_mean"] == pytest.approx(1 / 3)
    assert rows[1]["val/roll/ep_rew_mean"] == 7.0
    assert json.loads(run.results_path.read_text())["test"]["last"]["returns"] == [7.0] * 3


def test_a_lost_life_is_no_episode(tmp_path):
    config = make_config(
        f"{ENVS}Lives-v0", env_wrappers=[{"id": "EpisodicLife"}], n_steps=30, batch_size=30
    )
    run = run_training(config, tmp_path)
    row = json.loads(run.metrics_jsonl.read_text().splitlines()[0])
    # Two environments, thirty steps: one game each, of three lives of ten steps.
    assert row["train/roll/n_episodes"] == 2
    assert row["train/roll/ep_rew_mean"] == row["train/roll/ep_len_mean"] == 30.0
    test = json.loads(run.results_path.read_text())["test"]["last"]
    assert (test["returns"], test["lengths"]) == ([30.0] * 3, [30] * 3)


def test_a_normalised_reward_is_never_reported(tmp_path):
    run = run_training(make_config("CartPole-v1", normalize_reward=True, n_steps=64), tmp_path)
    rows = [json.loads(line) for line in run.metrics_jsonl.read_text().splitlines()]
    told = [row for row in rows if "train/roll/ep_rew_mean" in row]
    assert told
    for row in told:
        assert row["train/roll/ep_rew_mean"] == row["train/roll/ep_len_mean"] >= 8
    results = json.loads(run.results_path.read_text())["test"]["last"]
    assert results["returns"] == [float(length) for length in results["lengths"]]


def test_weights_to_begin_with_must_fit(tmp_path):
    first = run_training(make_config(), tmp_path / "first")
    reinforce = make_config().to_dict() | {"algo_id": "reinforce", "max_episode_steps": 10}
    for key in set(PPOConfig.model_fields) - set(REINFORCEConfig.model_fields):
        del reinforce[key]
    for config, fault in (
        (make_config(env_kwargs={"n": 4}), "does not fit"),
        (make_config(policy_kwargs={"hidden_dims": [9]}), "holds other networks"),
        (config_from_dict(reinforce), "it is of ppo, this run is reinforce"),
    ):
        with pytest.raises(CheckpointError, match=fault):
            run_training(config, tmp_path / "second", checkpoint=first.checkpoint("@best"))
        assert not list(tmp_path.glob("second/*"))


def test_weights_to_begin_with_are_all_that_is_taken(tmp_path):
    first = run_training(make_config(), tmp_path / "first")
    config = make_config(policy_lr=0.0, max_timesteps=16)
    second = run_training(config, tmp_path / "second", checkpoint=first.checkpoint("@last"))
    ours, theirs = (load_checkpoint(run.checkpoint("@last")) for run in (second, first))
    assert all(ours["policy"][name].equal(theirs["policy"][name]) for name in theirs["policy"])
    assert ours["counters"]["timesteps"] == 16
    assert all_finite(ours["policy"])


@pytest.mark.parametrize(("saved", "wanted"), [("simd", "sync"), ("sync", "torch")])
def test_a_refused_resume_leaves_the_run_as_it_was(saved, wanted, tmp_path):
    settings = {"env_id": "CartPole-v1", "eval_freq_epochs": None}
    run = run_training(make_config(**settings, vectorization=saved), tmp_path)
    status = run.read_status()
    stored = run.config_path.read_text()
    with pytest.raises(CheckpointError, match=f'put "vectorization": "{saved}" back into it'):
        run_training(
            make_config(**settings, vectorization=wanted, max_timesteps=96),
            tmp_path,
            resumed_run=run,
            checkpoint=run.checkpoint("@last"),
        )
    assert run.read_status() == status
    assert run.config_path.read_text() == stored


def test_a_run_of_before_simd_goes_on_with_new_episodes(tmp_path, capsys):
    settings = {"env_id": "CartPole-v1", "eval_freq_epochs": None}
    run = run_training(make_config(**settings, vectorization="sync"), tmp_path)
    longer = make_config(**settings, max_timesteps=96)
    run_training(longer, tmp_path, resumed_run=run, checkpoint=run.checkpoint("@last"))
    assert "2 of 2 environments could not be restored" in capsys.readouterr().err
    assert run.read_environment_facts()[-1]["vectorization"] == "simd"
    assert run.read_status()["timesteps"] == 96


def resolve(config, **changes):
    return resolve_machine(config, TrainingPlan(config=config, runs_dir=Path("runs"), **changes))


def test_a_device_is_chosen_or_refused():
    auto = resolve(make_config(device="auto"))
    assert auto.device == ("cuda" if torch.cuda.is_available() else "cpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device"):
            resolve(make_config(device="cuda"))


def test_debugging_leaves_minibatches_that_are_no_share_of_a_rollout():
    settings = {"schema_version": 2, "config_id": "Toy-v0:bc", "algo_id": "bc", "max_timesteps": 64}
    settings |= {"env_id": f"{ENVS}Identity-v0", "dataset": "toys/any-v0", "batch_size": 16}
    config = resolve(config_from_dict(settings), is_debug=True)
    assert config.batch_size == 16
    assert isinstance(config.batch_size, int)


def test_debugging_means_one_environment_and_one_batch():
    config = resolve(make_config(vectorization="async", batch_size=16), is_debug=True)
    assert (config.n_envs, config.vectorization) == (1, "sync")
    assert config.resolved_batch_size == config.rollout_size == 8


def test_processes_that_share_environments_keep_them_under_a_debugger(monkeypatch):
    monkeypatch.setattr("agents.training.is_debugger_attached", lambda: True)
    config = make_config(devices=2)
    assert resolve(config).n_envs == config.n_envs == 2
    assert resolve(make_config()).n_envs == 1


def test_a_run_of_other_networks_is_not_resumed(tmp_path):
    run = run_training(make_config(), tmp_path)
    changed = make_config(policy_kwargs={"hidden_dims": [9]}, max_timesteps=10_000)
    with pytest.raises(CheckpointError, match="holds other networks"):
        run_training(changed, tmp_path, resumed_run=run, checkpoint=run.checkpoint("@last"))


def test_a_run_that_goes_back_is_as_if_the_rest_had_never_been(tmp_path, capsys):
    config = make_config(checkpoint_freq_epochs=1, keep_checkpoints=100)
    run = run_training(config, tmp_path)
    n_epochs = int(run.checkpoint("@last").stem.removeprefix("epoch="))
    rows = run.metrics_csv.read_text()
    state = load_checkpoint(run.checkpoint("@last"))
    assert n_epochs > 1
    (run.checkpoints_dir / "epoch=99.ckpt").write_bytes(b"of a later time")
    run = run_training(config, tmp_path, resumed_run=run, checkpoint=run.checkpoint("epoch=01"))
    assert f"goes back to epoch=01: its later rows and {n_epochs} later" in capsys.readouterr().err
    assert not (run.checkpoints_dir / "epoch=99.ckpt").exists()
    assert len(run.metrics_csv.read_text().splitlines()) == len(rows.splitlines())
    again = load_checkpoint(run.checkpoint("@last"))
    assert all(again["policy"][name].equal(state["policy"][name]) for name in state["policy"])


@pytest.mark.parametrize(
    "fault", [MemoryError("no 32 GiB"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_what_does_not_fit_into_memory_is_told_in_a_line(fault, tmp_path, monkeypatch):
    def build(*_, **__):
        raise fault

    monkeypatch.setattr(training, "build_agent", build)
    with pytest.raises(ConfigError, match=r"Toy-v0:ppo needs more memory than there is \(.*\): ch"):
        run_training(make_config(), tmp_path)
    assert not list(tmp_path.iterdir())
