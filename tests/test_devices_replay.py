"""Several processes that learn from replay: their counts, their buffers, going on after a stop."""

import signal

import pytest
import torch

from tests.helpers.commands import error_lines, only_run, rows, small, train
from tests.helpers.saved_states import differences
from tests.helpers.together import train_together
from utils.checkpoints import load_checkpoint

# Eight epochs of 64 timesteps.
REPLAY = {
    "n_steps": None,
    "n_epochs": None,
    "batch_size": 8,
    "max_timesteps": 512,
    "steps_per_epoch": 16,
    "checkpoint_freq_epochs": 2,
    "eval_warmup_epochs": None,
    "eval_freq_epochs": 100,
    "test_episodes": 0,
}
DREAMER = REPLAY | {
    "max_timesteps": 256,
    "steps_per_epoch": 8,
    "sequence_length": 6,
    "train_ratio": 6,
    "imagination_horizon": 3,
    "buffer_steps": 400,
    "policy_kwargs": {
        "deter": 16,
        "hidden": 8,
        "units": 8,
        "choices": 3,
        "classes": 4,
        "blocks": 4,
    },
}
SAC = REPLAY | {"learning_starts_timesteps": 64, "normalize_obs": "rolling", "replay_ratio": 0.25}
DQN = REPLAY | {
    "learning_starts_timesteps": 64,
    "prioritized_replay": True,
    "noisy": True,
    "n_step": 3,
    "replay_ratio": 0.5,
    "train_every_vec_steps": 4,
    "buffer_transitions": 128,
    "target_update_timesteps": 64,
}
CASES = {
    "dreamer": small("CartPole-v1:dreamer", **DREAMER),
    "sac": small("Pendulum-v1:sac", **SAC),
    "dqn": small("CartPole-v1:dqn", **DQN),
}


def together(n, *words, runs_dir, **more):
    return train_together(n, *words, "--devices", str(n), runs_dir=runs_dir, **more)


def assert_fine(finished):
    assert [(f.code, error_lines(f)) for f in finished] == [(0, [])] * len(finished)


def last(run):
    return load_checkpoint(run.checkpoint("@last"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the run of two processes, never stopped, by the name of its case."""
    known = {}

    def run_of(name):
        if name not in known:
            folder = tmp_path_factory.mktemp("whole")
            assert_fine(together(2, *CASES[name], runs_dir=folder))
            known[name] = only_run(folder)
        return known[name]

    return run_of


@pytest.mark.parametrize("name", CASES)
def test_steps_and_updates_are_counted_as_in_one_process(name, whole, tmp_path):
    alone = train(*CASES[name], runs_dir=tmp_path)
    assert alone.code == 0, alone.err
    one, two = only_run(tmp_path), whole(name)
    for key in ("epoch", "timesteps", "vec_steps", "updates"):
        assert last(one)["counters"][key] == last(two)["counters"][key] > 0, key
    states = [last(two)["source"], last(two)["ranks"][0]["source"]]
    assert [len(s["collector"]["tracker"]["returns"]) for s in states] == [2, 2]
    # Each counts what its own environments did, and draws with dice of its own.
    assert [2 * s["n_added"] for s in states] == [last(two)["counters"]["timesteps"]] * 2
    assert not torch.equal(states[0]["generator"], states[1]["generator"])
    files = sorted(path.name for path in two.checkpoints_dir.glob("*.replay*"))
    assert files == ["epoch=08.replay", "epoch=08.replay1"]
    for first, second in zip(rows(one), rows(two), strict=True):
        apart = first.keys() ^ second.keys()  # of episodes there may be none
        assert all(key.startswith("train/roll/ep_") for key in apart)
        assert first["train/cnt/updates"] == second["train/cnt/updates"]
        n_stored = second["train/replay/n_transitions"]
        assert first["train/replay/n_transitions"] == pytest.approx(n_stored, rel=0.2)


def test_moments_of_observations_are_those_of_all_environments(whole):
    policy = last(whole("sac"))["policy"]
    (count,) = (value for key, value in policy.items() if key.endswith("count"))
    assert float(count) == pytest.approx(512, abs=1e-2)


@pytest.mark.parametrize("name", CASES)
def test_stopped_and_resumed_are_as_if_they_had_never_stopped(name, whole, tmp_path):
    stop = {0: f"signal-in-collection:20:{signal.SIGTERM.value}"}
    leader, other = together(2, *CASES[name], runs_dir=tmp_path, faults=stop)
    assert leader.code == 128 + signal.SIGTERM
    assert_fine([other])
    run = only_run(tmp_path)
    assert run.read_status()["status"] == "interrupted"
    assert last(run)["counters"]["epoch"] < 8
    assert_fine(train_together(2, "--resume", run.id, runs_dir=tmp_path))
    assert differences(whole(name).checkpoint("@last"), run.checkpoint("@last")) == []
    assert rows(run) == rows(whole(name))


def test_without_the_buffer_of_one_all_fill_new_ones(tmp_path):
    stop = {0: f"signal-in-collection:20:{signal.SIGTERM.value}"}
    together(2, *CASES["dqn"], runs_dir=tmp_path, faults=stop)
    run = only_run(tmp_path)
    before = last(run)["counters"]
    (lost,) = run.checkpoints_dir.glob("*.replay1")
    lost.unlink()
    leader, other = train_together(2, "--resume", run.id, runs_dir=tmp_path)
    assert (leader.code, other.code) == (0, 0), leader.err + other.err
    assert f"no replay buffer is saved beside epoch={before['epoch']:02}.ckpt" in leader.err
    assert [s["n_added"] for s in (last(run)["source"], last(run)["ranks"][0]["source"])] == [
        (512 - before["timesteps"]) // 2
    ] * 2


def test_a_failure_of_a_rank_ends_all_with_its_message(tmp_path):
    failed = {1: "environment-in-collection:10"}
    leader, other = together(2, *CASES["dqn"], runs_dir=tmp_path, faults=failed)
    assert (leader.code, other.code) == (3, 3)
    message = "rank 1: environment 1 of Test-v0 broke"
    assert error_lines(other) == [f"error: {message}"]
    assert error_lines(leader) == []
    assert only_run(tmp_path).read_status()["reason"] == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (small("CartPole-v1:dqn", **DQN | {"batch_size": 7}), "batch_size 7, which is that of all"),
        (small("CartPole-v1:dqn", **DQN | {"n_envs": 5}), "cannot share n_envs 5 evenly"),
    ],
)
def test_what_has_no_equal_parts_is_refused(words, message, tmp_path):
    done = train(*words, "--devices", "2", runs_dir=tmp_path)
    assert done.code == 2
    assert message in done.err
