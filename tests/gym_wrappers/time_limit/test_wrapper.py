from __future__ import annotations

import numpy as np
import pytest

from utils.environment import build_env
from utils.errors import ConfigError


def build(limit: object, *, inner: int | None = None, env_id: str = "MountainCar-v0", **kwargs):
    wrappers = [*kwargs.pop("before", ()), {"id": "TimeLimit", "max_episode_steps": limit}]
    return build_env(env_id, n_envs=1, env_wrappers=wrappers, max_episode_steps=inner, **kwargs)


def test_a_shorter_limit_truncates_and_is_told() -> None:
    env = build(7)
    env.reset(seed=0)
    ends = [[bool(flag[0]) for flag in env.step(np.array([1]))[2:4]] for _ in range(14)]
    assert env.max_episode_steps == 7
    assert [truncated for _, truncated in ends] == ([False] * 6 + [True]) * 2
    assert not any(terminated for terminated, _ in ends)
    env.close()


@pytest.mark.parametrize(
    ("limit", "inner", "told"), [(200, None, 200), (1000, None, 200), (60, 50, 50)]
)
def test_a_limit_that_would_never_be_reached_is_refused(
    limit: int, inner: int | None, told: int
) -> None:
    with pytest.raises(
        ConfigError, match=f"TimeLimit {limit} has no effect: .* after {told} steps"
    ):
        build(limit, inner=inner)


def test_the_limit_counts_steps_of_the_learner() -> None:
    skip = {"id": "FrameSkip", "skip": 4}
    with pytest.raises(ConfigError, match="after 50 steps already"):
        build(60, before=[skip])
    env = build(40, before=[skip])
    assert env.max_episode_steps == 40
    env.close()


def test_an_environment_with_a_limit_of_its_own_is_asked() -> None:
    with pytest.raises(ConfigError, match="after 100 steps already"):
        build(100, env_id="Bandit-Gaussian-v0")
    env = build(99, env_id="Bandit-Gaussian-v0")
    assert env.max_episode_steps == 99
    env.close()


def test_other_mistakes_are_named() -> None:
    with pytest.raises(ConfigError, match="whole number >= 1, got 0"):
        build(0)
    lives = {"id": "EpisodicLife"}
    with pytest.raises(ConfigError, match="put TimeLimit before EpisodicLife"):
        build(9, env_id="tests.helpers.envs:Lives-v0", before=[lives])
