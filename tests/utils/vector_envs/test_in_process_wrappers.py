from __future__ import annotations

import pytest

from gym_wrappers.clip_reward.wrapper import ClipReward
from gym_wrappers.episodic_life.wrapper import EpisodicLife
from tests.helpers import envs
from tests.helpers.in_process_envs import make, play_lives, zeros
from utils.errors import ConfigError
from utils.vector_envs import InProcessVectorEnv


def test_true_rewards_and_clipped_rewards_are_both_told() -> None:
    env = InProcessVectorEnv([lambda: ClipReward(envs.RewardListEnv())], env_id="x")
    env.reset(seed=0)
    pairs = []
    for _ in range(3):
        _, reward, _, _, infos = env.step(zeros(env))
        pairs.append((float(reward[0]), float(infos["raw_reward"][0])))
    assert pairs == [(1.0, 5.0), (1.0, 5.0), (-1.0, -3.0)]


def test_the_innermost_wrapper_knows_the_true_reward() -> None:
    factory = lambda: ClipReward(ClipReward(envs.RewardListEnv()), low=-0.5, high=0.5)  # noqa: E731
    env = InProcessVectorEnv([factory], env_id="x")
    env.reset(seed=0)
    _, reward, _, _, infos = env.step(zeros(env))
    assert (reward.tolist(), infos["raw_reward"].tolist()) == ([0.5], [5.0])


def test_lost_lives_end_the_learners_episode_and_not_the_game() -> None:
    env = InProcessVectorEnv([lambda: EpisodicLife(envs.LivesEnv())], env_id="x")
    env.reset(seed=0)
    n_terminations, over = play_lives(env, 30)
    assert n_terminations == 3
    assert [i for i, is_over in enumerate(over, start=1) if is_over] == [30]


def test_a_reset_between_lives_begins_a_new_game() -> None:
    env = InProcessVectorEnv([lambda: EpisodicLife(envs.LivesEnv())], env_id="x")
    env.reset(seed=0)
    play_lives(env, 15)
    assert env.reset()[0].tolist() == [[0.0]]
    assert play_lives(env, 30)[1].index(True) == 29


def test_without_such_wrappers_infos_are_empty() -> None:
    env = make(envs.LivesEnv)
    assert env.reset(seed=0)[1] == {}
    assert env.step(zeros(env))[4] == {}


def test_a_wrapper_that_does_not_fit_is_a_mistake_in_the_config_and_no_failed_environment() -> None:
    env = InProcessVectorEnv([lambda: EpisodicLife(envs.CountingEnv())], env_id="x")
    with pytest.raises(ConfigError, match="EpisodicLife needs an environment with info"):
        env.reset(seed=0)
