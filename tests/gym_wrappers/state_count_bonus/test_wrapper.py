from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.state_count_bonus.wrapper import StateCountBonus
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.errors import CheckpointError, ConfigError
from utils.vector_envs import InProcessVectorEnv

DISCRETE = gym.spaces.Discrete(5)
BOX = gym.spaces.Box(-10.0, 10.0, (2,), np.float32)


def play(env: StateCountBonus, n: int) -> list[float]:
    env.reset()
    return [float(env.step(0)[1]) - env.raw_reward for _ in range(n)]


def test_the_bonus_falls_with_the_root_of_the_visits_over_all_episodes() -> None:
    env = StateCountBonus(ScriptedEnv([0, 1, 1, 2], space=DISCRETE), beta=6.0)
    # states 1, 1, 2: 6, 6 / sqrt(2), 6; again: 6 / sqrt(3), 6 / sqrt(4), 6 / sqrt(2)
    assert play(env, 3) == pytest.approx([6.0, 4.242641, 6.0])
    assert play(env, 3) == pytest.approx([3.464102, 3.0, 4.242641])
    assert env.raw_reward == 3.0
    assert [env.count(state) for state in range(5)] == [0, 4, 2, 0, 0]


def test_a_box_counts_by_cells() -> None:
    observations = [[0.0, 0.0], [0.4, 1.9], [0.1, 0.1], [-0.1, 0.1], [0.0, 2.0]]
    env = StateCountBonus(ScriptedEnv(observations, space=BOX), beta=1.0, cell_size=[0.5, 2.0])
    # the third and the fourth lie in cells of their own: below 0, and 2.0 begins the next
    assert play(env, 4) == pytest.approx([1.0, 0.707107, 1.0, 1.0])
    one = StateCountBonus(ScriptedEnv(observations, space=BOX), beta=1.0, cell_size=5.0)
    assert play(one, 2) == pytest.approx([1.0, 0.707107])


@pytest.mark.parametrize(
    ("space", "arguments", "message"),
    [
        (BOX, {}, "needs cell_size"),
        (BOX, {"cell_size": 0.0}, "one width > 0 or 2 of them"),
        (BOX, {"cell_size": [1.0, 1.0, 1.0]}, "or 2 of them"),
        (DISCRETE, {"cell_size": 1.0}, "cell_size is for a Box only"),
        (DISCRETE, {"beta": 0.0}, "beta > 0"),
        (gym.spaces.Dict({"x": BOX}), {}, "cannot count observations of Dict"),
    ],
)
def test_mistakes_are_named(space: gym.Space, arguments: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StateCountBonus(ScriptedEnv([0, 1], space=space), **arguments)


def vector_env() -> InProcessVectorEnv:
    factory = lambda: StateCountBonus(ScriptedEnv([0, 1, 1, 2], space=DISCRETE), beta=6.0)  # noqa: E731
    return InProcessVectorEnv([factory] * 2, env_id="x")


def test_the_counts_of_a_saved_run_go_on() -> None:
    env, zeros = vector_env(), np.zeros(2, np.int64)
    env.reset(seed=0)
    for _ in range(7):
        env.step(zeros)
    state = env.get_state()
    expected = [env.step(zeros)[1].tolist() for _ in range(5)]
    other = vector_env()
    restored = other.set_state(state)[1]
    assert restored.all()
    assert [other.step(zeros)[1].tolist() for _ in range(5)] == expected


def test_counts_of_other_observations_are_refused() -> None:
    env = StateCountBonus(ScriptedEnv([0, 1], space=DISCRETE))
    play(env, 1)
    other = StateCountBonus(ScriptedEnv([0, 1], space=BOX), cell_size=1.0)
    with pytest.raises(CheckpointError, match="not 2"):
        other.set_memory(env.get_memory())
