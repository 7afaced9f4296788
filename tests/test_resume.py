"""A run that was stopped in any way goes on as if it had never been stopped."""

from __future__ import annotations

import itertools
import json
import signal
from pathlib import Path

import pytest

from tests.helpers import world_models_2018
from tests.helpers.commands import (
    ENVS,
    Finished,
    csv_rows,
    error_lines,
    only_run,
    processes_left,
    rows,
    small,
    train,
)
from tests.helpers.saved_states import differences
from utils.checkpoints import load_checkpoint
from utils.run import Run

NORMALIZED = {
    "normalize_obs": "rolling",
    "normalize_reward": True,
    "clip_range_vf": 0.2,
    "target_kl": 0.02,
    "ent_coef": "lin_0.01",
}
# Epochs of 128 timesteps, as the others have; learning begins in the second.
REPLAY = {
    "n_steps": None,
    "n_epochs": None,
    "batch_size": 16,
    "buffer_transitions": 600,
    "learning_starts_timesteps": 150,
    "steps_per_epoch": 32,
    "train_every_vec_steps": 3,
    "replay_ratio": 0.3,
    "target_update_timesteps": 200,
    "policy_kwargs": {"hidden_dims": [16]},
}
RAINBOW = {
    "prioritized_replay": True,
    "n_step": 3,
    "dueling": True,
    "noisy": True,
    "distribution": "c51",
    "v_min": 0,
    "v_max": 100,
    "normalize_obs": "rolling",
    "vectorization": "sync",
}
# Epochs of 4 updates of 32 demonstrated steps.
IMITATION = {
    "n_envs": None,
    "n_steps": None,
    "n_epochs": None,
    "batch_size": 32,
    "updates_per_epoch": 4,
    "dataset_episodes": 20,
}
# Two epochs each to collect, see and remember, four generations in the dream and two awake.
WORLD_MODELS = {
    **world_models_2018.SMALL,
    "phases": [
        world_models_2018.COLLECT,
        world_models_2018.SEE,
        world_models_2018.REMEMBER,
        world_models_2018.DREAM | {"duration": {"updates": 4}},
        world_models_2018.PLAY,
    ],
    "policy_kwargs": world_models_2018.SMALL["policy_kwargs"],
    "n_envs": 2,
    "n_steps": None,
    "batch_size": None,
    "n_epochs": None,
    "temperature": 1.2,
}
CONFIGS = {
    "CartPole": small(),
    "BC": small("Obstacle-v0:bc", **IMITATION, policy_kwargs={"hidden_dims": [16]}),
    "Diffusion": small(
        "Obstacle-v0:diffusion_transformer",
        **IMITATION,
        policy_kwargs={"network": "transformer", "width": 8, "n_layers": 1, "dropout": 0.2},
        warmup_updates=6,
        n_denoise_steps=4,
    ),
    "World Models": small("Spotlight-v0:world_models", **WORLD_MODELS),
    "DQN": small("CartPole-v1:dqn", **REPLAY),
    "Rainbow": small("CartPole-v1:dqn", **REPLAY, **RAINBOW),
    "normalised": small(**NORMALIZED, vectorization="sync"),
    "curious": small(
        exploration={"kind": "rnd", "coef": "lin_1", "update_proportion": 0.5},
        value_normalization="popart",
        normalize_obs="rolling",
        vectorization="sync",
    ),
    "Pendulum": small("Pendulum-v1:ppo", normalize_obs="rolling", max_episode_steps=50),
    "processes": small(vectorization="async", n_workers=2),
    "REINFORCE": small(
        "CartPole-v1:reinforce",
        n_steps=None,
        batch_size=None,
        n_epochs=None,
        episodes_per_env=2,
        use_baseline=True,
        max_timesteps=3200,
    ),
    "tensors": small(vectorization="torch", rollouts_per_epoch=2, max_timesteps=6400),
    "shared pictures": small(
        env_id=f"{ENVS}Picture-v0",
        env_kwargs={"shape": [48, 48, 3], "length": 7, "ending": "truncated"},
        frame_stack=2,
        policy_kwargs={"feature_dim": 16, "share_trunk": True},
        n_steps=8,
        batch_size=16,
        max_timesteps=384,
    ),
}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory):
    """Return the run of a config that was never stopped; made once for each config."""
    runs: dict[str, Run] = {}

    def get(name: str, arguments: list[str]) -> Run:
        if name not in runs:
            folder = tmp_path_factory.mktemp("straight")
            finished = train(*arguments, runs_dir=folder)
            assert finished.code == 0, finished.err
            runs[name] = only_run(folder)
        return runs[name]

    return get


def resume(runs_dir: Path, fault: str | None = None, *arguments: str) -> Finished:
    return train("--resume", "@last", *arguments, runs_dir=runs_dir, fault=fault)


def assert_same_training(resumed: Run, whole: Run) -> None:
    assert differences(resumed.checkpoint("@last"), whole.checkpoint("@last")) == []
    assert resumed.checkpoint("@best").name == whole.checkpoint("@best").name
    assert rows(resumed) == rows(whole)
    assert csv_rows(resumed) == csv_rows(whole)


def check_killed_and_resumed(whole: Run, arguments: list[str], runs_dir: Path) -> None:
    killed = train(*arguments, runs_dir=runs_dir, fault="kill-in-epoch:8")
    assert killed.code == -signal.SIGKILL, killed.err
    assert processes_left(killed.session) == []
    run = only_run(runs_dir)
    assert run.read_status()["status"] == "died"
    assert run.checkpoint("@last").name == "epoch=05.ckpt"
    assert [row["epoch"] for row in rows(run)] == [1, 2, 3, 4, 5, 6, 7]
    resumed = resume(runs_dir)
    assert resumed.code == 0, resumed.err
    assert "could not be restored" not in resumed.err
    assert run.read_status()["status"] == "completed"
    assert_same_training(run, whole)


@pytest.mark.parametrize("name", CONFIGS)
def test_killed_and_resumed_is_never_stopped(name, straight, tmp_path):
    if name == "World Models":
        pytest.importorskip("cma", reason="needs the extra evolution")
    check_killed_and_resumed(straight(name, CONFIGS[name]), CONFIGS[name], tmp_path)


@pytest.mark.slow
def test_killed_and_resumed_with_a_physics_engine(straight, tmp_path):
    pytest.importorskip("Box2D", reason="needs the extra box2d")
    arguments = small("LunarLander-v3:ppo", n_steps=256, batch_size=256, max_timesteps=12288)
    check_killed_and_resumed(straight("LunarLander", arguments), arguments, tmp_path)


def test_a_buffer_lies_beside_the_newest_checkpoint_alone(straight, tmp_path):
    whole = straight("DQN", CONFIGS["DQN"])
    assert [path.name for path in whole.checkpoints_dir.glob("*.replay")] == ["epoch=12.replay"]
    killed = train(*CONFIGS["DQN"], runs_dir=tmp_path, fault="kill-before-link:3")
    assert killed.code == -signal.SIGKILL
    run = only_run(tmp_path)
    # The buffer of the save that was not finished lies beside the one that belongs to `last`.
    assert run.checkpoint("@last").with_suffix(".replay").exists()
    resumed = resume(tmp_path)
    assert resumed.code == 0, resumed.err
    assert_same_training(run, whole)


def test_a_run_without_its_buffer_says_so_and_fills_a_new_one(tmp_path):
    arguments = small("CartPole-v1:dqn", **REPLAY, save_replay=False)
    train(*arguments, runs_dir=tmp_path, fault="kill-in-epoch:8")
    resumed = resume(tmp_path)
    assert resumed.code == 0, resumed.err
    assert "note: no replay buffer is saved beside epoch=05.ckpt" in resumed.err
    run = only_run(tmp_path)
    updates = [row["train/cnt/updates"] for row in rows(run)]
    fresh = [after - before for before, after in itertools.pairwise(updates[4:])]
    # 152 of 256 timesteps fill the buffer again; 0.3 of those after it are updates.
    assert fresh[0] == 0
    assert fresh[1] == int(0.3 * 104)
    assert max(fresh) <= 0.3 * 128 + 1


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        # The third save is that of epoch 8; it is also the first that could be the new best.
        ("kill-in-save:1", None),
        ("kill-in-save:3", "epoch=05.ckpt"),
        ("kill-before-link:1", None),
        ("kill-before-link:3", "epoch=04.ckpt"),
        ("kill-before-link:4", "epoch=05.ckpt"),
    ],
)
def test_killed_in_a_save(fault, last, straight, tmp_path):
    killed = train(*CONFIGS["CartPole"], runs_dir=tmp_path, fault=fault)
    assert killed.code == -signal.SIGKILL
    run = only_run(tmp_path)
    resumed = resume(tmp_path)
    if last is None:
        # Nothing was saved yet: that is said, and the folder is as it was.
        assert resumed.code == 2
        (line,) = error_lines(resumed)
        assert "can be loaded" in line
        assert run.read_status()["status"] == "died"
        return
    assert resumed.code == 0, resumed.err
    assert_same_training(run, straight("CartPole", CONFIGS["CartPole"]))
    assert list(run.checkpoints_dir.glob(".*")) == []


def test_last_is_whole_after_a_kill_in_a_save(tmp_path):
    train(*CONFIGS["CartPole"], runs_dir=tmp_path, fault="kill-in-save:3")
    run = only_run(tmp_path)
    leftovers = [path.name for path in run.checkpoints_dir.glob(".*.tmp")]
    assert len(leftovers) == 1, "the kill did not come in the middle of a save"
    assert run.checkpoint("@last").name == "epoch=05.ckpt"
    assert load_checkpoint(run.checkpoint("@last"))["counters"]["epoch"] == 5
    assert load_checkpoint(run.checkpoint("@best"))["counters"]["epoch"] == 4


def test_killed_three_times(straight, tmp_path):
    arguments = CONFIGS["normalised"]
    train(*arguments, runs_dir=tmp_path, fault="kill-in-epoch:7")
    assert resume(tmp_path, "kill-in-epoch:4").code == -signal.SIGKILL
    assert resume(tmp_path, "kill-in-save:2").code == -signal.SIGKILL
    assert resume(tmp_path).code == 0
    assert_same_training(only_run(tmp_path), straight("normalised", arguments))
    assert len(only_run(tmp_path).read_environment_facts()) == 4


@pytest.mark.parametrize("name", ["normalised", "REINFORCE"])
@pytest.mark.parametrize("moment", ["rollout", "epoch"])
def test_interrupted_and_resumed(name, moment, straight, tmp_path):
    stopped = train(*CONFIGS[name], runs_dir=tmp_path, fault=f"signal-in-{moment}:7:15")
    assert stopped.code == 143
    assert only_run(tmp_path).checkpoint("@last").name == "epoch=07.ckpt"
    assert resume(tmp_path).code == 0
    run, whole = only_run(tmp_path), straight(name, CONFIGS[name])
    assert_same_training(run, whole)


def test_a_resumed_run_counts_on_and_overwrites_nothing(tmp_path):
    # 3 epochs of 8 x 256 = 2048 timesteps, then 2 more.
    arguments = small(
        n_envs=8, n_steps=256, batch_size=512, max_timesteps=10240, checkpoint_freq_epochs=1
    )
    train(*arguments, runs_dir=tmp_path, fault="signal-in-epoch:3:2")
    run = only_run(tmp_path)
    before = {path.name: path.read_bytes() for path in run.checkpoints_dir.glob("epoch=*.ckpt")}
    assert sorted(before) == ["epoch=01.ckpt", "epoch=02.ckpt", "epoch=03.ckpt"]
    assert load_checkpoint(run.checkpoint("@last"))["counters"]["timesteps"] == 6144
    assert resume(tmp_path).code == 0
    after = {path.name: path.read_bytes() for path in run.checkpoints_dir.glob("epoch=*.ckpt")}
    assert sorted(after) == [f"epoch=0{n}.ckpt" for n in (1, 2, 3, 4, 5)]
    assert {name: after[name] for name in before} == before
    counted = [(row["epoch"], row["timesteps"]) for row in rows(run)]
    assert counted == [(n, 2048 * n) for n in (1, 2, 3, 4, 5)]
    assert [int(row["timesteps"]) for row in csv_rows(run)] == [2048 * n for n in (1, 2, 3, 4, 5)]
    counters = load_checkpoint(run.checkpoint("@last"))["counters"]
    # 5 epochs of 256 vector steps and of 2 passes over 4 minibatches.
    assert (counters["vec_steps"], counters["updates"]) == (1280, 40)


def test_a_schedule_runs_over_the_whole_run_in_parts_or_in_one(tmp_path):
    arguments = small(
        policy_lr="lin_3e-4", max_timesteps=512, checkpoint_freq_epochs=1, eval_freq_epochs=4
    )
    train(*arguments, runs_dir=tmp_path, fault="signal-in-epoch:1:15")
    for _ in range(2):
        assert resume(tmp_path, "signal-in-epoch:1:15").code == 143
    assert resume(tmp_path).code == 0
    used = [row["train/hp/policy_lr"] for row in rows(only_run(tmp_path))]
    # 4 epochs of 128 of 512 timesteps: 3e-4 * (1 - epoch / 4)
    assert used == pytest.approx([3e-4, 2.25e-4, 1.5e-4, 0.75e-4], rel=1e-12)


def test_settings_are_stored_as_they_were_given_however_often_a_run_is_resumed(tmp_path):
    arguments = small(batch_size="0.5", max_timesteps="5e2", checkpoint_freq_epochs=1)
    train(*arguments, runs_dir=tmp_path, fault="signal-in-epoch:1:15")
    run = only_run(tmp_path)
    stored = run.config_path.read_bytes()
    for _ in range(3):
        resume(tmp_path, "signal-in-epoch:1:15")
    assert run.config_path.read_bytes() == stored
    assert json.loads(stored)["batch_size"] == 0.5
    counters = load_checkpoint(run.checkpoint("@last"))["counters"]
    # 4 epochs of 2 passes over 2 halves.
    assert counters["updates"] == 16


def test_environments_that_cannot_be_restored_are_told_of(tmp_path):
    arguments = small(
        env_id=f"{ENVS}CarryOver-v0",
        env_kwargs={"length": 10},
        n_steps=103,
        batch_size=206,
        max_timesteps=3296,
    )
    train(*arguments, runs_dir=tmp_path, fault="signal-in-epoch:4:2")
    resumed = resume(tmp_path)
    assert resumed.code == 0
    assert "note: 4 of 4 environments could not be restored" in resumed.err
    assert "count as truncated" in resumed.err
    run = only_run(tmp_path)
    # 412 steps before the stop: the two steps after the last ended episode are in no statistic,
    # and the next ten steps are a whole episode.
    assert {row["train/roll/ep_len_mean"] for row in rows(run)} == {10.0}
    episodes = [row["train/cnt/episodes"] for row in rows(run)]
    assert [episodes[3], episodes[7]] == [4 * 41, 4 * 41 + 4 * 41]
    assert episodes[4] - episodes[3] == 4 * 10


def test_a_completed_run_goes_on_when_it_is_given_more_time(straight, tmp_path):
    arguments = small(policy_lr=1e-3, clip_range=0.2)
    shorter = [*arguments, "--max-timesteps", "512"]  # whose last epoch is evaluated anyway
    assert train(*shorter, runs_dir=tmp_path).code == 0
    again = resume(tmp_path)
    assert again.code == 2
    (line,) = error_lines(again)
    assert "512" in line
    assert "--max-timesteps" in line
    assert only_run(tmp_path).read_status()["status"] == "completed"
    assert resume(tmp_path, None, "--max-timesteps", "1536").code == 0
    run, whole = only_run(tmp_path), straight("constant", arguments)
    assert differences(run.checkpoint("@last"), whole.checkpoint("@last")) == []
    assert [row["epoch"] for row in rows(run)] == list(range(1, 13))
    assert json.loads(run.config_path.read_text())["max_timesteps"] == 1536


def test_a_fresh_run_with_the_weights_of_another(tmp_path):
    train(*CONFIGS["normalised"], runs_dir=tmp_path / "first")
    first = only_run(tmp_path / "first")
    fresh = train(
        *small(**NORMALIZED, max_timesteps=128, policy_lr=0.0, seed=5),
        "--init-from-run",
        f"{first.path}/epoch=05",
        runs_dir=tmp_path / "second",
    )
    assert fresh.code == 0, fresh.err
    state = load_checkpoint(only_run(tmp_path / "second").checkpoint("@last"))
    origin = load_checkpoint(first.checkpoint("epoch=05"))
    assert state["counters"]["timesteps"] == 128
    for name, weights in state["policy"].items():
        if "normalizer" not in name:
            assert weights.equal(origin["policy"][name]), name
    # 5 epochs of 128 observations, then one more.
    assert float(state["policy"]["normalizer.moments.count"]) == 768


def test_weights_of_another_environment_are_refused(tmp_path):
    train(*small(max_timesteps=128), runs_dir=tmp_path)
    name = only_run(tmp_path).id
    refused = train(*small("Pendulum-v1:ppo"), "--init-from-run", name, runs_dir=tmp_path)
    assert refused.code == 2
    (line,) = error_lines(refused)
    assert "does not fit Pendulum-v1:ppo: the observation space was box(" in line
    assert "'low'" not in line
    assert [path.name for path in tmp_path.iterdir()] == [name], "a folder was left behind"
