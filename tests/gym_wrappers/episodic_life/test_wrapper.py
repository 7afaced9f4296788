from __future__ import annotations

import pytest
from gymnasium.wrappers import TimeLimit

from gym_wrappers.episodic_life.wrapper import EpisodicLife
from tests.helpers.envs import CountingEnv, LivesEnv
from utils.errors import ConfigError


def play(env: EpisodicLife, n: int) -> list[tuple[int, bool, bool, bool]]:
    """Play `n` steps with resets; return (count, terminated, truncated, over) of each end."""
    ends = []
    for _ in range(n):
        observation, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            ends.append((int(observation[0]), terminated, truncated, env.episode_over))
            env.reset()
    return ends


def test_each_lost_life_is_an_end_and_the_last_one_ends_the_game() -> None:
    env = EpisodicLife(LivesEnv(lives=3, life_length=10))
    env.reset(seed=0)
    assert play(env, 30) == [
        (10, True, False, False),
        (20, True, False, False),
        (30, True, False, True),
    ]


def test_the_next_life_begins_where_the_last_was_lost_and_no_step_is_hidden() -> None:
    env = EpisodicLife(LivesEnv())
    env.reset(seed=0)
    play(env, 9)
    lost, *_ = env.step(0)
    first, info = env.reset()
    assert lost.tolist() == first.tolist() == [10.0]
    assert info == {"lives": 2}
    assert env.step(0)[0].tolist() == [11.0]


def test_a_time_out_ends_the_game() -> None:
    env = EpisodicLife(TimeLimit(LivesEnv(), 15))
    env.reset(seed=0)
    assert play(env, 15) == [(10, True, False, False), (15, False, True, True)]
    assert env.step(0)[0].tolist() == [1.0]


def test_a_seed_begins_a_new_game() -> None:
    env = EpisodicLife(LivesEnv())
    env.reset(seed=0)
    play(env, 12)
    assert env.reset(seed=1)[0].tolist() == [0.0]


def test_a_game_without_lives_is_refused() -> None:
    with pytest.raises(ConfigError, match="lives"):
        EpisodicLife(CountingEnv()).reset(seed=0)
