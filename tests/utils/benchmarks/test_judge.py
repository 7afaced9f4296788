import numpy as np
import pytest

from utils.benchmarks.judge import build_fast_cartpole, greedy_mean


class ScriptedEnv:
    """Environment i pays 1 a step and ends its first episode after i + 1 steps, then goes on."""

    num_envs = 3

    def reset(self, *, seed):
        self.count = 0
        return np.zeros((3, 4), np.float32), {}

    def step(self, action):
        self.count += 1
        terminated = self.count == np.array([1, 2, 99])
        truncated = self.count == np.array([99, 99, 3])
        return np.zeros((3, 4), np.float32), np.ones(3), terminated, truncated, {}


class Model:
    def predict(self, observation, *, deterministic):
        assert deterministic
        return np.zeros(len(observation), np.int64), None


def test_only_first_episodes_are_counted():
    assert greedy_mean(Model(), ScriptedEnv(), seed=0) == pytest.approx((1 + 2 + 3) / 3)


def test_the_judge_sees_the_same_task():
    env = build_fast_cartpole(2)
    assert env.num_envs == 2
    assert env.max_episode_steps == 500
    env.close()
