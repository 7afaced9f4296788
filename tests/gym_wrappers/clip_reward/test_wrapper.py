from __future__ import annotations

import pytest

from gym_wrappers.clip_reward.wrapper import ClipReward
from tests.helpers.envs import RewardListEnv
from utils.errors import ConfigError


def test_the_learner_gets_signs_and_the_true_rewards_are_kept() -> None:
    env = ClipReward(RewardListEnv(rewards=(5.0, 0.25, -3.0)))
    env.reset(seed=0)
    seen = [(env.step(0)[1], env.raw_reward) for _ in range(3)]
    assert seen == [(1.0, 5.0), (0.25, 0.25), (-1.0, -3.0)]


def test_limits_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="low < high"):
        ClipReward(RewardListEnv(), low=1.0, high=1.0)
