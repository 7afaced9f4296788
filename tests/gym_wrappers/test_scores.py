"""Scores are those of the whole game, whatever the wrappers of the learner do."""

from __future__ import annotations

import numpy as np

from gym_wrappers.clip_reward.wrapper import ClipReward
from gym_wrappers.episodic_life.wrapper import EpisodicLife
from gym_wrappers.state_count_bonus.wrapper import StateCountBonus
from tests.helpers import envs
from tests.helpers.in_process_envs import zeros
from utils.rollouts import EpisodeTracker
from utils.vector_envs import InProcessVectorEnv


def score(factory, n: int) -> tuple[EpisodeTracker, int, list[float]]:
    """Take n steps; return the tracker, the learner's terminations and its rewards."""
    env = InProcessVectorEnv([factory], env_id="x")
    env.reset(seed=0)
    tracker, n_terminated, rewards = EpisodeTracker(1), 0, []
    for _ in range(n):
        _, reward, terminated, truncated, infos = env.step(zeros(env))
        over = infos.get("episode_over", terminated | truncated)
        tracker.update(infos.get("raw_reward", reward), over)
        n_terminated += int(terminated[0])
        rewards.append(float(reward[0]))
    return tracker, n_terminated, rewards


def test_three_lives_are_one_game_of_thirty() -> None:
    tracker, n_terminated, _ = score(lambda: EpisodicLife(envs.LivesEnv()), 30)
    assert (list(tracker.window_returns), list(tracker.window_lengths)) == ([30.0], [30])
    assert n_terminated == 3


def test_the_score_is_not_the_clipped_reward() -> None:
    tracker, _, rewards = score(lambda: ClipReward(envs.RewardListEnv()), 3)
    assert rewards == [1.0, 1.0, -1.0]
    assert list(tracker.window_returns) == [7.0]


def test_nor_is_it_a_bonus_around_a_clipped_reward_of_a_life() -> None:
    def factory():
        inner = ClipReward(EpisodicLife(envs.LivesEnv()), low=0.0, high=0.5)
        return StateCountBonus(inner, cell_size=100.0, beta=1.0)

    tracker, n_terminated, rewards = score(factory, 30)
    # one cell: 0.5 + 1 / sqrt(n)
    np.testing.assert_allclose(rewards, 0.5 + 1 / np.sqrt(np.arange(1, 31)))
    assert (list(tracker.window_returns), n_terminated) == ([30.0], 3)
