"""Several processes train as one on GPUs, through NCCL inside captured graphs."""

from __future__ import annotations

import signal

import pytest
import torch

from tests.helpers.commands import only_run, rows, settings
from tests.helpers.together import train_together

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
QUIET = {
    "device": "cuda",
    "video": "none",
    "test_episodes": 0,
    "early_stop_on_eval_reward": False,
    "eval_freq_timesteps": 10**9,
}
CASES = {
    "CartPole-v1:ppo_gpu": {"n_envs": 2048, "rollouts_per_epoch": 4, "max_timesteps": 1_048_576},
    "CartPole-v1:dreamer": {"max_timesteps": 1200, "steps_per_epoch": 100, "n_envs": 4},
}


@pytest.mark.parametrize("config_id", CASES)
def test_two_gpus_train_to_the_end(config_id, tmp_path):
    words = settings(**QUIET | CASES[config_id])
    ended = train_together(2, config_id, *words, "--devices", "2", runs_dir=tmp_path)
    assert [f.code for f in ended] == [0, 0], "\n".join(f.err for f in ended)
    run = only_run(tmp_path)
    told = rows(run)
    assert told[-1]["timesteps"] == CASES[config_id]["max_timesteps"]
    log = run.log_path.read_text()
    if config_id == "CartPole-v1:ppo_gpu":
        assert "fused kernels on the device" in log
    else:
        assert told[-1]["train/cnt/updates"] > 100


def test_a_failure_of_a_rank_ends_all_with_its_message(tmp_path):
    words = settings(**QUIET | CASES["CartPole-v1:dreamer"])
    failed = {1: "environment-in-collection:40"}
    leader, other = train_together(
        2, "CartPole-v1:dreamer", *words, "--devices", "2", runs_dir=tmp_path, faults=failed
    )
    assert (leader.code, other.code) == (3, 3)
    message = "rank 1: environment 1 of Test-v0 broke"
    assert only_run(tmp_path).read_status()["reason"] == message


@pytest.mark.parametrize("fault", ["bug-in-closing", f"gone-in-closing:{signal.SIGTERM.value}"])
def test_a_rank_that_is_lost_when_its_part_is_done_takes_nothing_from_the_run(fault, tmp_path):
    """The leader's final test takes longer than it would wait for one that is lost in training."""
    quiet = QUIET | {"test_episodes": 400, "eval_n_envs": 1, "eval_max_episode_steps": 500}
    words = settings(**quiet | CASES["CartPole-v1:dreamer"])
    leader, _ = train_together(
        2, "CartPole-v1:dreamer", *words, "--devices", "2", runs_dir=tmp_path, faults={1: fault}
    )
    assert leader.code == 0, leader.err
    assert only_run(tmp_path).read_status()["status"] == "completed"
