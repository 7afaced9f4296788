from __future__ import annotations

import numpy as np
import pytest

from gym_wrappers.pixel_observation.wrapper import PixelObservation
from tests.helpers.envs import CountingEnv, DrawingEnv
from utils.environment import build_env
from utils.errors import ConfigError

PIXELS = [{"id": "PixelObservation"}]
ENV_ID = "tests.helpers.envs:Drawing-v0"


def test_the_picture_is_that_of_the_state() -> None:
    env = PixelObservation(DrawingEnv(render_mode="rgb_array", height=20, width=30))
    assert env.observation_space.shape == (20, 30, 3)
    first = env.reset()[0]
    assert first[0, 0].tolist() == [40, 0, 0]  # red is 40 per episode: one was played to measure
    assert env.step(0)[0][0, 0].tolist() == [40, 20, 0]


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_a_config_need_not_ask_for_the_render_mode(vectorization: str) -> None:
    kwargs = {"height": 40, "width": 60}
    env = build_env(
        ENV_ID, n_envs=2, env_wrappers=PIXELS, env_kwargs=kwargs, vectorization=vectorization,
        grayscale_obs=True, frame_stack=2,
    )  # fmt: skip
    try:
        assert env.single_observation_space.shape == (2, 40, 60)
        env.reset(seed=0)
        observation = env.step(np.zeros(2, np.int64))[0]
        # grey of (40, 0, 0) is 12, of (40, 20, 0) 12 + 11.7: the stack is oldest first
        assert observation[0, :, 0, 0].tolist() == [12, 24]
    finally:
        env.close()


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ConfigError, match="not human: a window cannot be had beside it"):
        build_env("CartPole-v1", n_envs=1, env_wrappers=PIXELS, render_mode="human")
    env = CountingEnv(render_mode="rgb_array")
    env.render = lambda: None
    with pytest.raises(ConfigError, match="draws no colour picture"):
        PixelObservation(env)
