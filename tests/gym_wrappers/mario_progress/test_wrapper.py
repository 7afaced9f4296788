from __future__ import annotations

import pytest

from gym_wrappers.mario_progress.wrapper import MarioProgress
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.errors import ConfigError


def info(x: int, *, level: tuple[int, int] = (0, 0), lives: int = 2) -> dict[str, int]:
    return {
        "xscrollHi": x // 256, "xscrollLo": x % 256, "levelHi": level[0], "levelLo": level[1],
        "lives": lives,
    }  # fmt: skip


def play(*infos: dict[str, int]) -> list[float]:
    """Return what each step pays; the first info is of the first step, the reset has none."""
    env = MarioProgress(
        ScriptedEnv([[0.0]] * (len(infos) + 1), infos=[{}, *infos]),
        pixel_reward=0.5, level_reward=100.0, death_penalty=7.0,
    )  # fmt: skip
    env.reset()
    paid = [float(env.step(0)[1]) for _ in infos]
    assert env.raw_reward == len(infos)
    return paid


def test_new_ground_pays_once_and_over_the_end_of_a_screen() -> None:
    assert play(info(40), info(50), info(45), info(50), info(54)) == [0, 5, 0, 0, 2]
    assert play(info(250), info(260)) == [0, 5]


def test_a_lost_life_costs_and_its_way_counts_anew() -> None:
    assert play(info(300), info(0, lives=1), info(4, lives=1)) == [0, -7, 2]


def test_a_finished_level_pays_and_its_way_counts_anew() -> None:
    assert play(info(3000), info(10, level=(0, 1)), info(12, level=(0, 1))) == [0, 100, 1]
    assert play(info(3000, level=(0, 3)), info(0, level=(1, 0))) == [0, 100]


def test_a_new_episode_owes_nothing_to_the_last() -> None:
    env = MarioProgress(ScriptedEnv([[0.0]] * 4, infos=[{}, info(500), info(600), info(700)]))
    env.reset()
    env.step(0)
    env.reset()
    assert env.step(0)[1] == 0.0
    assert env.step(0)[1] == pytest.approx(1.0)


def test_another_game_is_refused() -> None:
    env = MarioProgress(ScriptedEnv([[0.0]] * 3))
    env.reset()
    with pytest.raises(ConfigError, match=r"needs info\['xscrollHi'\]"):
        env.step(0)
