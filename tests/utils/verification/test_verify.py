"""Runs are trained again and compared; both trainings are forks, which start at once."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gym_envs.obstacle.env import ObstacleEnv
from tests.helpers.commands import ROOT, Command, error_lines, only_run, small
from tests.helpers.demonstrations import SMALL_UNET, write_episodes
from tests.helpers.dreamer_runs import TINY
from tests.helpers.sequence_agents import SHAPE
from tests.helpers.together import train_together
from tests.helpers.world_models_2018 import SMALL as WORLD_MODELS
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.errors import RunFailedError, UserError
from utils.experiments.commands import verify as command
from utils.run import Run
from utils.storage import read_json, write_json
from utils.verification.verdict_text import describe_verdict
from utils.verification.verify import verify_run

REPLAYED = {
    "n_steps": None,
    "n_epochs": None,
    "n_envs": 2,
    "batch_size": 16,
    "steps_per_epoch": 32,
    "train_every_vec_steps": 16,
    "learning_starts_timesteps": 64,
    "max_timesteps": 256,
    "eval_warmup_epochs": 0,
    "eval_freq_epochs": 2,
}
TINY_MODEL = {k: v for k, v in TINY.items() if k not in ("numbers", "size", "depth")}
SEQUENCES = {
    "steps_per_epoch": 16,
    "train_every_vec_steps": None,
    "learning_starts_timesteps": None,
    "batch_size": 2,
    "sequence_length": 8,
    "max_timesteps": 160,
    "policy_kwargs": TINY_MODEL,
}
OTHERS = {
    "n_steps": None,
    "n_epochs": None,
    "batch_size": 2,
    "eval_warmup_epochs": 0,
    "eval_freq_epochs": 2,
    "eval_episodes": 2,
    "test_episodes": 2,
}
PLANNED = {
    **OTHERS,
    "n_envs": 2,
    "learning_starts_timesteps": 40,
    "steps_per_epoch": 20,
    "eval_max_episode_steps": 20,
}
IMITATED = {
    **OTHERS,
    "n_envs": None,
    "batch_size": 8,
    "dataset_episodes": 12,
    "updates_per_epoch": 4,
    "max_timesteps": 96,
}
RUNS = {
    "ppo": small("CartPole-v1:ppo"),
    "dqn": small("CartPole-v1:dqn", **REPLAYED, target_update_timesteps=64),
    "sac": small("Pendulum-v1:sac", **REPLAYED),
    "td3": small("Pendulum-v1:td3", **REPLAYED),
    "reinforce": small("CartPole-v1:reinforce", n_steps=None, batch_size=None, n_epochs=None),
    "q_learning": small(
        "FrozenLake-v1:q_learning", **OTHERS | {"batch_size": None}, max_timesteps=2000
    ),
    "bc": small("Obstacle-v0:bc", **IMITATED, policy_kwargs={"hidden_dims": [8]}),
    "diffusion": small(
        "Obstacle-v0:diffusion",
        **IMITATED,
        policy_kwargs=SMALL_UNET,
        n_denoise_steps=4,
        warmup_updates=2,
    ),
    "planet": small(
        "Pendulum-v1:planet",
        **PLANNED,
        sequence_length=6,
        max_timesteps=160,
        policy_kwargs=SHAPE,
        train_ratio=12,
        buffer_steps=400,
        planning_candidates=8,
        planning_elites=3,
        planning_iterations=2,
    ),
    "tdmpc": small(
        "Pendulum-v1:tdmpc",
        **PLANNED,
        max_timesteps=160,
        policy_kwargs={"size": "tiny", "encoder_dim": 16, "mlp_dim": 16, "latent_dim": 16},
        pretrain_updates=6,
        buffer_steps=200,
        n_candidates=16,
        n_proposals=4,
        n_elites=4,
        n_iterations=2,
    ),
    "world_models": small(
        "Spotlight-v0:world_models", **OTHERS | WORLD_MODELS | {"batch_size": None, "n_envs": 2}
    ),
}
SEEN = {"n_envs": 2, "max_timesteps": 256, "eval_max_episode_steps": 20, "eval_freq_epochs": 2}
SLOW_RUNS = {
    "dreamer": small("CartPole-v1:dreamer", **{**REPLAYED, **SEQUENCES}),
    "vizdoom": small("VizDoom-Basic:ppo", **SEEN),
    "retro": small("Retro/Airstriker-Genesis-v0:ppo", **SEEN),
}
PACKAGES = {
    "diffusion": "diffusers",
    "retro": "stable_retro",
    "vizdoom": "vizdoom",
    "world_models": "cma",
}


class ForkedJob:
    """Like `utils.jobs.Job`, but a fork of a process that has imported everything."""

    process = None

    def __init__(self, command, *, output, cwd=None):
        del output, cwd
        assert command[1].endswith("train.py")
        self._words = command[2:]
        self._command = None
        self.exit_code = None

    def start(self):
        self._command = Command("train", *self._words, environment=datasets())

    def is_ended(self):
        if self.exit_code is None:
            self.exit_code = self._command.poll()
        return self.exit_code is not None

    def is_running(self):
        return self._command is not None and not self.is_ended()

    def stop(self, number):
        if self.is_running():
            os.kill(self._command.pid, number)
        while number is signal.SIGKILL and self.is_running():
            pass

    def last_output(self):
        return "it went wrong"


@pytest.fixture(autouse=True)
def forked(monkeypatch):
    monkeypatch.setattr("utils.verification.rerun.Job", ForkedJob)


def verify(run, **options):
    options = {
        "until": None,
        "tolerance": None,
        "folder": None,
        "tell": lambda n, total: None,
    } | options
    return verify_run(run, **options)


def datasets():
    """Return the variable that a test may set; a fork has the others from its beginning."""
    return {key: os.environ[key] for key in ("MINARI_DATASETS_PATH",) if key in os.environ}


def trained(folder, *words) -> Run:
    words = ("-q", "--runs-dir", str(folder), *words)
    finished = Command("train", *words, environment=datasets()).wait()
    assert finished.code == 0, finished.err
    return only_run(folder)


def reasons(verdict):
    """Return the reasons but for this program itself, which may be edited while it is tested."""
    return [reason for reason in verdict.reasons if not reason.startswith("this program")]


def change_config(run, **changes):
    write_json(run.config_path, dict(read_json(run.config_path) or {}) | changes)


@pytest.mark.parametrize(
    "name", [*RUNS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_RUNS)]
)
def test_a_run_is_verified(tmp_path, name):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    words = (RUNS | SLOW_RUNS)[name]
    run = trained(tmp_path / "runs", *words)
    told = []
    verdict = verify(run, tell=lambda n, total: told.append((n, total)))
    assert verdict.is_verified, describe_verdict(run, verdict)
    assert verdict.tolerance == 0.0
    n = len(run.metrics_jsonl.read_text().splitlines())
    assert told[-1] == (n, n)
    assert verdict.n_rows == n >= (1 if name == "q_learning" else 3)
    assert verdict.weights_epoch == n
    assert verdict.n_numbers > 100
    is_cut = "eval_max_episode_steps=20" in words
    assert verdict.n_test_returns in ((0,) if is_cut else (4, 8))
    assert reasons(verdict) == []
    epochs = "1 epoch" if n == 1 else f"{n} epochs"
    assert describe_verdict(run, verdict).startswith(f"VERIFIED {run.id}: {epochs} of metrics")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.id]


@pytest.fixture(scope="module")
def ppo_run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("ppo"), *RUNS["ppo"])


@pytest.fixture
def run(ppo_run, tmp_path):
    """Return a copy of a run that may be changed."""
    folder = tmp_path / "runs" / ppo_run.id
    shutil.copytree(ppo_run.path, folder, symlinks=True)
    return Run(folder)


def test_another_setting_is_caught(run):
    change_config(run, gamma=0.5)
    verdict = verify(run)
    assert not verdict.is_verified
    assert verdict.row is not None
    assert verdict.row.epoch == 1
    assert verdict.row.is_of_update_alone
    (reason,) = reasons(verdict)
    assert reason == "config.json was changed after the training: gamma was 0.98, is 0.5"
    text = describe_verdict(run, verdict)
    assert "first at epoch 1 (128 timesteps), the very first" in text
    assert "the update is what differs" in text


def test_another_seed_is_caught(run):
    change_config(run, seed=5)
    verdict = verify(run)
    assert verdict.row is not None
    assert not verdict.row.is_of_update_alone
    assert reasons(verdict) == ["config.json was changed after the training: seed was 0, is 5"]
    assert "what was collected in that epoch differs" in describe_verdict(run, verdict)


def test_another_library_is_caught(run):
    """As if another torch had rounded one loss of the sixth epoch otherwise."""
    facts = read_json(run.environment_path)
    facts["sessions"][0]["packages"]["torch"] = "2.9.0"
    write_json(run.environment_path, facts)
    rows = [json.loads(line) for line in run.metrics_jsonl.read_text().splitlines()]
    rows[5]["train/loss/value"] *= 1.0 + 1e-12
    run.metrics_jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows))
    verdict = verify(run)
    assert verdict.row is not None
    assert (verdict.n_rows, verdict.row.epoch) == (5, 6)
    assert [value.key for value in verdict.row.values] == ["train/loss/value"]
    (reason,) = reasons(verdict)
    assert reason.startswith("torch was 2.9.0, is 2.")
    assert verify(run, tolerance=1e-6).row is None


def test_other_weights_are_caught(run):
    path = run.checkpoint("@last")
    state = load_checkpoint(path)
    name = next(iter(state["policy"]))
    state["policy"][name].view(-1)[0] += 1e-3
    save_checkpoint(path, state)
    verdict = verify(run)
    assert verdict.row is None
    assert verdict.states == (f"policy.{name}",)
    assert "the weights are not" in describe_verdict(run, verdict)
    assert reasons(verdict) == []


def test_another_test_is_caught(run):
    results = read_json(run.results_path)
    results["test"]["last"]["returns"][0] += 1.0
    write_json(run.results_path, results)
    verdict = verify(run)
    assert verdict.tests == ("last",)
    assert "the test of last is not" in describe_verdict(run, verdict)


def test_a_run_without_its_checkpoints_is_compared_by_its_test(run):
    shutil.rmtree(run.checkpoints_dir)
    verdict = verify(run)
    assert verdict.is_verified, describe_verdict(run, verdict)
    assert (verdict.weights_epoch, verdict.n_test_returns) == (None, 8)
    results = read_json(run.results_path)
    results["test"]["best"]["returns"][-1] += 1.0
    write_json(run.results_path, results)
    verdict = verify(run)
    assert verdict.tests == ("best",)
    assert "metrics are equal, the test of best is not" in describe_verdict(run, verdict)


def test_a_test_that_a_clock_has_ended_is_told(run):
    results = read_json(run.results_path)
    results["test"]["last"] |= {"returns": [], "n_unfinished": 4}
    write_json(run.results_path, results)
    verdict = verify(run)
    assert verdict.tests == ("last",)
    (reason,) = reasons(verdict)
    assert reason == (
        "the test of last ran into its time limit (eval_timeout_seconds): 4 episodes were left "
        "unfinished, 0 are"
    )


def test_a_part_of_a_run(run):
    verdict = verify(run, until=5 * 128)
    assert verdict.is_verified
    assert (verdict.n_rows, verdict.n_stored_rows, verdict.weights_epoch) == (5, 5, 5)
    assert verdict.n_test_returns == 0


def test_an_interrupted_run_is_verified_as_far_as_it_came(tmp_path):
    command = Command(
        "train",
        "-q",
        "--runs-dir",
        str(tmp_path),
        *small(
            max_timesteps=10**7,
            eval_freq_epochs="null",
            early_stop_on_eval_reward=False,
            eval_warmup_epochs=None,
            eval_episodes=None,
            eval_n_envs=None,
        ),
    )
    while not list(tmp_path.glob("*/metrics.jsonl")):
        assert command.poll() is None
    command.send(signal.SIGTERM)
    assert command.wait().code == 143
    run = only_run(tmp_path)
    verdict = verify(run)
    assert verdict.is_verified, describe_verdict(run, verdict)
    assert verdict.weights_epoch == verdict.n_rows


def test_a_run_that_began_with_other_weights(tmp_path, run):
    child = trained(
        tmp_path / "child", *small(max_timesteps=256), "--init-from-run", f"{run.path}/epoch=05"
    )
    assert verify(child).is_verified
    run.checkpoint("epoch=05").unlink()
    with pytest.raises(RunFailedError, match="which is gone"):
        verify(child)


def test_what_cannot_be_verified_is_told_before_anything_is_trained(run, capsys):
    with pytest.raises(UserError, match="has no metrics up to 10 timesteps"):
        command.main([str(run.path), "--until", "10"])
    assert capsys.readouterr().err == ""
    run.write_status("running")
    with pytest.raises(UserError, match="is being trained"):
        verify(run)
    run.write_status("completed")
    change_config(run, optimizer="NoSuch")
    with pytest.raises(UserError, match="NoSuch"):
        verify(run)


def test_what_is_trained_again_may_be_kept(run, tmp_path, capsys):
    assert command.main([str(run.path), "--until", "128", "--keep", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert shown.err == f"training {run.id} again\n"
    assert shown.out.startswith(f"VERIFIED {run.id}: 1 epoch")
    (again,) = (tmp_path / run.id / "runs").iterdir()
    assert (again / "config.json").exists()
    assert Path(again / "checkpoints").is_dir()


SHARED = {
    "ppo": small(max_timesteps=512),
    "dqn": small("CartPole-v1:dqn", **REPLAYED, target_update_timesteps=64),
    "sac": small("Pendulum-v1:sac", **REPLAYED),
    "dreamer": small("CartPole-v1:dreamer", **{**REPLAYED, **SEQUENCES}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_a_run_of_two_processes_is_verified(tmp_path, monkeypatch, name):
    monkeypatch.undo()  # the processes of a run start each other; they are no forks
    words = [*SHARED[name], "--devices", "2", "-q", "--runs-dir", str(tmp_path)]
    subprocess.run([sys.executable, str(ROOT / "train.py"), *words], check=True, cwd=ROOT)
    run = only_run(tmp_path)
    verdict = verify(run)
    assert verdict.is_verified, describe_verdict(run, verdict)
    assert verdict.n_rows == verdict.weights_epoch == verdict.n_stored_rows > 1


@pytest.mark.slow
def test_a_run_of_two_machines_is_verified_by_processes_of_this_one(tmp_path, monkeypatch):
    words = [*small(max_timesteps=512), "--num-nodes", "2"]
    ended = train_together(2, *words, runs_dir=tmp_path, n_machines=2)
    assert [(f.code, error_lines(f)) for f in ended] == [(0, []), (0, [])]
    run = only_run(tmp_path)
    monkeypatch.undo()
    verdict = verify(run)
    assert verdict.is_verified, describe_verdict(run, verdict)
    assert verdict.n_rows == verdict.weights_epoch == 4
    assert "it was trained on 2 machines, and again by as many processes on this one" in (
        verdict.reasons
    )


def test_as_many_processes_train_again_as_before(tmp_path, run, monkeypatch):
    commands = []

    class RefusedError(Exception):
        pass

    def refuse(command, **_):
        commands.append(command)
        raise RefusedError

    monkeypatch.setattr("utils.verification.rerun.Job", refuse)
    change_config(run, devices=2, num_nodes=2)
    with pytest.raises(RefusedError):
        verify(run)
    (command,) = commands
    assert {"devices=4", "num_nodes=1"} <= set(command)


def test_other_demonstrations_are_caught(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    env = ObstacleEnv()
    spaces = env.observation_space, env.action_space
    write_episodes("own/x-v0", *spaces, seed=1, n_episodes=10)
    settings = {"dataset_episodes": 10, "policy_kwargs": {"hidden_dims": [8]}}
    words = small("Obstacle-v0:bc", **IMITATED | settings, dataset="own/x-v0")
    run = trained(tmp_path / "runs", *words)
    assert verify(run).is_verified
    shutil.rmtree(tmp_path / "datasets")
    write_episodes("own/x-v0", *spaces, seed=2, n_episodes=10)
    verdict = verify(run)
    assert verdict.row is not None
    (reason,) = reasons(verdict)
    assert reason == "the demonstrations are others: the dataset has changed since the training"
