from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.helpers.envs import CountingEnv
from tests.helpers.in_process_envs import make, zeros
from utils.errors import ConfigError
from utils.vector_envs import InProcessVectorEnv, SubprocessVectorEnv
from utils.vector_envs.episode_metrics import join_columns


class TellingEnv(CountingEnv):
    """Tells the length of its episode; two environments of different length by the seed."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        if seed is not None:
            self.length = 2 + seed % 2
        return super().reset(seed=seed, options=options)

    def step(self, action: Any):
        observation, reward, terminated, truncated, _ = super().step(action)
        info = {"episode_metrics": {"steps": self.count}} if terminated else {}
        return observation, reward, terminated, truncated, info


class SelfLimitedEnv(CountingEnv):
    """Ends after 5 steps and says so."""

    max_episode_steps = 5


def told(env: Any, n: int) -> list[list[float] | None]:
    """Take n steps; return the column of the metric by step, None where there is none."""
    env.reset(seed=0)
    columns = []
    for _ in range(n):
        infos = env.step(zeros(env))[-1]
        column = infos.get("episode_metrics", {}).get("steps")
        columns.append(None if column is None else column.tolist())
    return columns


EXPECTED = [None, [2.0, -1.0], [-1.0, 3.0], [2.0, -1.0], None, [2.0, 3.0]]


def is_expected(columns: list[list[float] | None]) -> bool:
    """Compare with what environments of 2 and 3 steps tell; -1 stands for NaN."""
    plain = [None if c is None else np.nan_to_num(c, nan=-1.0).tolist() for c in columns]
    return plain == EXPECTED


def test_what_environments_tell_stands_in_the_infos_of_the_step() -> None:
    assert is_expected(told(make(TellingEnv, 2), 6))


def test_worker_processes_tell_the_same() -> None:
    env = SubprocessVectorEnv([TellingEnv] * 2, env_id="Telling", n_workers=2)
    try:
        assert is_expected(told(env, 6))
    finally:
        env.close()


def test_a_column_of_one_part_is_unknown_for_the_others() -> None:
    joined = join_columns([(slice(1, 3), {"a": np.array([1.0, 2.0])})], 4)
    np.testing.assert_array_equal(joined["a"], [np.nan, 1.0, 2.0, np.nan])


def test_an_environment_may_say_its_own_limit() -> None:
    assert make(SelfLimitedEnv).max_episode_steps == 5
    assert make(CountingEnv).max_episode_steps is None


@pytest.mark.parametrize("limit", [3, 5])
def test_a_shorter_limit_from_outside_counts(limit: int) -> None:
    env = InProcessVectorEnv([lambda: limited(SelfLimitedEnv(), limit)], env_id="SelfLimited")
    assert env.max_episode_steps == limit


def test_a_longer_limit_from_outside_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"max_episode_steps: 9 has no effect: SelfLimited .* 5 "):
        InProcessVectorEnv([lambda: limited(SelfLimitedEnv(), 9)], env_id="SelfLimited")


def limited(env: CountingEnv, limit: int) -> CountingEnv:
    """Give an environment a spec with a limit, as Gymnasium's `make` would."""
    from gymnasium.envs.registration import EnvSpec

    env.spec = EnvSpec("SelfLimited-v0", max_episode_steps=limit)
    return env


class ReachingEnv(CountingEnv):
    """Says in every info whether it has reached its goal, as robotics environments do."""

    def step(self, action: Any):
        *step, _ = super().step(action)
        return *step, {"is_success": np.float32(self.count >= 5)}


def test_success_is_told_by_the_last_step_of_an_episode():
    env = InProcessVectorEnv([ReachingEnv], env_id="Reaching-v0")
    env.reset(seed=0)
    columns = [env.step(zeros(env))[-1].get("episode_metrics") for _ in range(6)]
    assert columns[:4] == [None] * 4
    assert columns[4]["is_success"].tolist() == [1.0]
    assert columns[5] is None
    env.close()
