from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.observation_printer.wrapper import ObservationPrinter
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.errors import ConfigError


def lines(env: ObservationPrinter, n: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    env.reset()
    for _ in range(n):
        env.step(1)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_every_second_step_and_the_last_one(capsys: pytest.CaptureFixture[str]) -> None:
    env = ObservationPrinter(
        ScriptedEnv([[0.5, i] for i in range(6)], space=gym.spaces.Box(-9, 9, (2,))),
        every=2, labels=["angle", "count"],
    )  # fmt: skip
    assert lines(env, 5, capsys) == [
        "reset angle=0.5 count=0",
        "step 2 action=1 reward=2 angle=0.5 count=2",
        "step 4 action=1 reward=4 angle=0.5 count=4",
        "step 5 action=1 reward=5 terminated angle=0.5 count=5",
    ]


def test_numbers_without_names_pictures_and_dicts(capsys: pytest.CaptureFixture[str]) -> None:
    space = gym.spaces.Discrete(9)
    assert lines(ObservationPrinter(ScriptedEnv([7, 8], space=space)), 1, capsys) == [
        "reset x0=7",
        "step 1 action=1 reward=1 terminated x0=8",
    ]
    picture = np.zeros((10, 10), np.uint8)
    picture[0, 0] = 200
    space = gym.spaces.Dict({"screen": gym.spaces.Box(0, 255, (10, 10), np.uint8)})
    env = ObservationPrinter(ScriptedEnv([{"screen": picture}] * 2, space=space))
    assert lines(env, 0, capsys) == ["reset screen: shape=(10, 10) min=0 max=200 mean=2"]


def test_mistakes_are_named() -> None:
    env = ScriptedEnv([[0.0], [0.0]])
    with pytest.raises(ConfigError, match="whole number >= 1, got 0"):
        ObservationPrinter(env, every=0)
    with pytest.raises(ConfigError, match="2 labels for 1 numbers"):
        ObservationPrinter(env, labels=["a", "b"])
