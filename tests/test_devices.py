"""Several processes train as one: the same episodes, statistics and weights, and one end."""

import os
import signal
import time

import pytest
import torch

from tests.helpers.commands import (
    Command,
    error_lines,
    only_run,
    processes_left,
    rows,
    small,
    train,
)
from tests.helpers.saved_states import differences, state_differences
from tests.helpers.together import train_together
from utils.checkpoints import load_checkpoint

# Four epochs, no evaluation; rounding is not blown up by an optimiser that divides by it.
SHORT = {
    "max_timesteps": 512,
    "test_episodes": 0,
    "eval_freq_epochs": None,
    "eval_warmup_epochs": None,
    "eval_freq_timesteps": 10_000,
    "optimizer": "SGD",
    "policy_lr": 0.05,
}
NORMALIZED = {
    "vectorization": "sync",
    "normalize_obs": "rolling",
    "normalize_reward": True,
    "clip_range_vf": 0.2,
    "target_kl": 0.001,
    "ent_coef": "lin_0.01",
}
CASES = {
    "ppo simd": small("CartPole-v1:ppo", **SHORT),
    "ppo with all statistics": small(
        "Pendulum-v1:ppo", **SHORT | NORMALIZED, value_normalization="popart"
    ),
    "ppo with a memory": small(
        "CartPole-v1:ppo_memory", **SHORT, sequence_length=8, normalize_advantages="rollout"
    ),
    "reinforce": small(
        "CartPole-v1:reinforce",
        **SHORT,
        n_steps=None,
        n_epochs=None,
        batch_size=None,
        use_baseline=True,
        normalize_obs="rolling",
    ),
}
WEIGHT_TOLERANCE = 1e-5
"""What the order of sums may change in four epochs of some updates each; seen: 1e-7."""


def last(runs_dir):
    return load_checkpoint(only_run(runs_dir).checkpoint("@last"))


def assert_fine(finished):
    assert [(f.code, error_lines(f)) for f in finished] == [(0, [])] * len(finished)


@pytest.mark.parametrize("name", CASES)
def test_two_processes_learn_what_one_does(tmp_path, name):
    alone = train(*CASES[name], runs_dir=tmp_path / "one")
    assert alone.code == 0, alone.err
    assert_fine(train_together(2, *CASES[name], "--devices", "2", runs_dir=tmp_path / "two"))
    has_choices = CASES[name][0].startswith("CartPole")
    one, two = last(tmp_path / "one"), last(tmp_path / "two")
    assert one["counters"] == two["counters"]
    for key, value in one["policy"].items():
        # Statistics take in the same rows in the same order; choices are the same, so rows are.
        tolerance = 0.0 if "moments" in key and has_choices else WEIGHT_TOLERANCE
        torch.testing.assert_close(two["policy"][key], value, rtol=0.0, atol=tolerance)
    of_one, of_two = (rows(only_run(tmp_path / folder)) for folder in ("one", "two"))
    for first, second in zip(of_one, of_two, strict=True):
        assert first.keys() == second.keys()
        for key in first:
            is_count = key.startswith(("train/roll/ep_", "train/roll/n_", "train/cnt/"))
            wanted = (
                first[key]
                if is_count and has_choices
                else pytest.approx(first[key], rel=1e-3, abs=1e-4)
            )
            assert second[key] == wanted, key


DEVICE = SHORT | {
    "optimizer": "Adam",
    "device": "cpu",
    "batch_size": 0.5,
    "rollouts_per_epoch": 2,
    "n_epochs": 3,
    "eval_warmup_epochs": None,
    "eval_n_envs": 4,
}


def test_environments_of_tensors_give_each_process_an_equal_part(tmp_path):
    # Two processes with the same episodes and dice are one process twice: every mean is the same.
    alone = {"n_envs": 4, "max_timesteps": 1024, "normalize_advantages": "none"}
    twice = alone | {"n_envs": 8, "max_timesteps": 2048}
    one = train(*small("CartPole-v1:ppo_gpu", **DEVICE | alone), runs_dir=tmp_path / "one")
    assert one.code == 0, one.err
    words = (*small("CartPole-v1:ppo_gpu", **DEVICE | twice), "--devices", "2")
    same = dict.fromkeys(range(2), "same-seeds")
    assert_fine(train_together(2, *words, runs_dir=tmp_path / "two", faults=same))
    of_one, of_two = last(tmp_path / "one"), last(tmp_path / "two")
    assert state_differences(of_one["policy"], of_two["policy"]) == []
    first, second = (rows(only_run(tmp_path / folder)) for folder in ("one", "two"))
    for key in ("train/ppo/approx_kl", "train/loss/value", "train/grad/norm", "train/adv/std"):
        assert second[-1][key] == pytest.approx(first[-1][key], rel=1e-6)
    for name in ("timesteps", "episodes"):
        assert of_two["counters"][name] == 2 * of_one["counters"][name]


def test_processes_with_environments_of_tensors_are_samples_of_their_own(tmp_path):
    words = small("CartPole-v1:ppo_gpu", **DEVICE, target_kl=0.01, normalize_advantages="rollout")
    assert_fine(train_together(2, *words, "--devices", "2", runs_dir=tmp_path))
    state = last(tmp_path)
    first, second = state["source"], state["ranks"][0]["source"]
    assert state_differences(first["env"], second["env"]) != []
    assert (
        state_differences(first["loop"]["action_generator"], second["loop"]["action_generator"])
        != []
    )
    # The order of the samples is drawn alike, so that parts belong to one minibatch.
    assert (
        state_differences(first["loop"]["order_generator"], second["loop"]["order_generator"]) == []
    )


def test_four_processes_stopped_and_resumed_are_as_if_they_had_never_stopped(tmp_path):
    adam = SHORT | NORMALIZED | {"optimizer": "Adam"}
    config = [*small("CartPole-v1:ppo", **adam), "--devices", "4"]
    assert_fine(train_together(4, *config, runs_dir=tmp_path / "whole"))
    stop = {0: f"signal-in-epoch:2:{signal.SIGTERM.value}"}
    leader, *others = train_together(4, *config, runs_dir=tmp_path / "parts", faults=stop)
    assert leader.code == 128 + signal.SIGTERM
    assert_fine(others)
    run = only_run(tmp_path / "parts")
    assert run.read_status()["status"] == "interrupted"
    assert_fine(train_together(4, "--resume", run.id, runs_dir=tmp_path / "parts"))
    whole = only_run(tmp_path / "whole")
    assert differences(whole.checkpoint("@last"), run.checkpoint("@last")) == []
    assert rows(run) == rows(whole)
    refused = train("--resume", run.id, "--devices", "2", runs_dir=tmp_path / "parts")
    assert refused.code == 2
    assert "--devices has no effect with --resume" in refused.err


def test_a_failure_of_a_rank_ends_all_with_its_message_and_code(tmp_path):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    failed = {1: "environment-in-rollout:2"}
    leader, other = train_together(2, *config, runs_dir=tmp_path, faults=failed)
    assert (leader.code, other.code) == (3, 3)
    message = "rank 1: environment 1 of Test-v0 broke"
    assert error_lines(other) == [f"error: {message}"]
    assert error_lines(leader) == []
    status = only_run(tmp_path).read_status()
    assert (status["status"], status["reason"]) == ("failed", message)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_process_that_hangs_is_ended_when_another_fails(tmp_path, failing):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    faults = {failing: "environment-in-rollout:2", 1 - failing: "hang-in-rollout:2"}
    ended = train_together(2, *config, runs_dir=tmp_path, faults=faults)
    assert [f.code for f in ended] == [3, 3]
    message = ("" if failing == 0 else "rank 1: ") + "environment 1 of Test-v0 broke"
    assert error_lines(ended[failing]) == [f"error: {message}"]
    status = only_run(tmp_path).read_status()
    assert (status["status"], status["reason"]) == ("failed", message)


def test_a_failure_of_the_leader_is_told_once(tmp_path):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    failed = {0: "environment-in-rollout:2"}
    leader, other = train_together(2, *config, runs_dir=tmp_path, faults=failed)
    assert (leader.code, other.code) == (3, 3)
    assert error_lines(leader) == ["error: environment 1 of Test-v0 broke"]
    assert error_lines(other) == []


def test_a_bug_in_a_rank_leaves_its_traceback(tmp_path):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    leader, other = train_together(2, *config, runs_dir=tmp_path, faults={1: "bug-in-rollout:1"})
    assert (leader.code, other.code) == (1, 1)
    assert "ZeroDivisionError: a mistake of the program" in other.err
    assert error_lines(leader) == []
    assert "ZeroDivisionError" in only_run(tmp_path).read_status()["reason"]


def test_a_rank_that_fails_when_its_part_is_done_takes_nothing_from_the_run(tmp_path):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    bug = {1: "bug-in-closing"}
    leader, other = train_together(2, *config, runs_dir=tmp_path, faults=bug)
    assert (leader.code, error_lines(leader)) == (0, [])
    assert other.code == 0  # a launcher would end the leader in the middle of its final test
    assert error_lines(other) == [
        "note: rank 1 failed after its part was done: ZeroDivisionError: a mistake of the program"
    ]
    assert only_run(tmp_path).read_status()["status"] == "completed"


def test_a_rank_that_is_gone_when_its_part_is_done_takes_nothing_from_the_run(tmp_path):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    gone = {1: f"gone-in-closing:{signal.SIGTERM.value}"}
    leader, other = train_together(2, *config, runs_dir=tmp_path, faults=gone)
    assert (leader.code, error_lines(leader)) == (0, [])
    assert other.code == -signal.SIGTERM
    assert only_run(tmp_path).read_status()["status"] == "completed"


def test_ranks_that_compute_something_else_are_noticed(tmp_path):
    config = (*small("CartPole-v1:ppo", **SHORT), "--devices", "2")
    leader, other = train_together(2, *config, runs_dir=tmp_path, faults={1: "other-weights:2"})
    assert (leader.code, other.code) == (3, 3)
    assert "rank 1: the weights differ from those of rank 0" in other.err


def test_mistakes_are_told_before_anything_is_started(tmp_path):
    config = small("CartPole-v1:ppo", **SHORT)
    for words, message in (
        (("--devices", "3"), "3 processes cannot share n_envs 4 evenly: make it a multiple of 3"),
        (("--num-nodes", "2"), "on several machines start train.py by torchrun or srun"),
        (
            ("--devices", "2", "--set", "exploration.kind=rnd"),
            "2 processes: exploration.kind: rnd learns what is new in one process",
        ),
        (("--devices", "2", "--debug"), "--debug trains one environment in one process"),
    ):
        done = train(*config, *words, runs_dir=tmp_path)
        assert done.code == 2
        assert message in done.err
    (leader, other) = train_together(2, *config, runs_dir=tmp_path)
    assert leader.code == 2
    assert "has started 2 processes, 2 on a machine, and the config asks for 1" in leader.err
    assert error_lines(other) == []
    assert not tmp_path.exists() or not list(tmp_path.iterdir())


def start_long(runs_dir, *, fault=None):
    """Start a training that does not end by itself, with a process that it starts itself."""
    endless = {"max_timesteps": 10**9, "early_stop_on_eval_reward": False}
    words = small("CartPole-v1:ppo", **SHORT | endless)
    words = ("-q", "--runs-dir", str(runs_dir), "--devices", "2", *words)
    command = Command("train", *words, fault=fault)
    deadline = time.monotonic() + 300.0
    while not list(runs_dir.glob("*/metrics.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return command


def test_ctrl_c_saves_and_leaves_no_process(tmp_path):
    command = start_long(tmp_path)
    command.send(signal.SIGINT)
    ended = command.wait()
    assert ended.code == 130, ended.err
    assert "go on with: python train.py --resume" in ended.err
    assert processes_left(ended.session) == []
    assert only_run(tmp_path).read_status()["status"] == "interrupted"


@pytest.mark.parametrize("fault", [None, "hang-in-rollout:3"])
def test_a_process_that_is_killed_ends_the_run(tmp_path, fault):
    command = start_long(tmp_path, fault=fault)
    children = f"/proc/{command.pid}/task/{command.pid}/children"
    with open(children) as file:
        (child,) = (int(word) for word in file.read().split())
    os.kill(child, signal.SIGKILL)
    ended = command.wait()
    assert ended.code == 128 + signal.SIGKILL
    assert error_lines(ended)[-1] == "error: the process of rank 1 was ended by SIGKILL"
    assert processes_left(ended.session) == []
    assert only_run(tmp_path).read_status()["status"] == "failed"
