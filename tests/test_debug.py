"""`debug` looks into a training without changing it, and names what goes wrong."""

import json

from tests.helpers.commands import error_lines, only_run, small, train
from tests.helpers.saved_states import state_differences
from trainer_callbacks.debug_probe import read_statistics
from utils.checkpoints import load_checkpoint

# The same path with and without: a shared trunk is nothing that compiled code knows.
PLAIN = {
    "vectorization": "sync",
    "policy_kwargs.share_trunk": True,
    "max_timesteps": 512,
    "test_episodes": 0,
}


def test_a_run_with_debug_trains_the_same_weights_and_leaves_what_it_saw(tmp_path):
    plain = train(*small("CartPole-v1:ppo", **PLAIN), runs_dir=tmp_path / "plain")
    debug = train(*small("CartPole-v1:ppo", **PLAIN, debug=True), runs_dir=tmp_path / "debug")
    assert (plain.code, debug.code) == (0, 0), plain.err + debug.err
    of_plain, of_debug = (only_run(tmp_path / name) for name in ("plain", "debug"))
    states = [load_checkpoint(run.checkpoint("@last")) for run in (of_plain, of_debug)]
    assert state_differences(*(state["policy"] for state in states)) == []
    assert not (of_plain.path / "debug").exists()
    folder = of_debug.path / "debug"
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    names = {event["name"] for event in events}
    phases = {"collect", "update", "evaluate", "log", "checkpoint", "environment", "policy"}
    assert phases | {"forward and backward", "optimizer step"} <= names
    assert "forward and backward" in debug.out
    assert "ui.perfetto.dev" in debug.out
    rows = read_statistics(of_debug.path)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert set(rows[0]["weights"]) == set(rows[0]["gradients"])
    assert "policy.actor_head" in rows[0]["activations"]


def test_numbers_that_are_not_finite_are_named(tmp_path):
    changes = PLAIN | {"optimizer": "SGD", "policy_lr": 1e38, "max_grad_norm": "null"}
    done = train(*small("CartPole-v1:ppo", **changes, debug=True), runs_dir=tmp_path)
    assert done.code == 3
    (line,) = [line for line in error_lines(done) if line.startswith("error: ")]
    assert line.startswith("error: debug: ")
    assert "policy." in line
    assert "optimiser step" in line
    assert (only_run(tmp_path).path / "debug" / "trace.json").exists()


def test_an_agent_of_a_replay_buffer_is_looked_at_too(tmp_path):
    changes = {
        "n_steps": None,
        "n_epochs": None,
        "batch_size": 16,
        "buffer_transitions": 600,
        "learning_starts_timesteps": 100,
        "steps_per_epoch": 32,
        "train_every_vec_steps": 4,
        "replay_ratio": 0.1,
        "target_update_timesteps": 200,
        "policy_kwargs": {"hidden_dims": [16]},
        "max_timesteps": 512,
        "test_episodes": 0,
    }
    done = train(*small("CartPole-v1:dqn", **changes, debug=True), runs_dir=tmp_path)
    assert done.code == 0, done.err
    statistics = read_statistics(only_run(tmp_path).path)[-1]
    assert any(name.startswith("target.") for name in statistics["weights"])
    assert any(name.startswith("policy.") for name in statistics["gradients"])
    assert "forward, backward and steps" in done.out


def test_the_option_takes_one_environment_too(tmp_path):
    done = train(*small("CartPole-v1:ppo", **PLAIN), "--debug", runs_dir=tmp_path)
    assert done.code == 0, done.err
    run = only_run(tmp_path)
    assert run.read_config_dict()["debug"] is True
    assert (run.path / "debug" / "profile.txt").exists()
