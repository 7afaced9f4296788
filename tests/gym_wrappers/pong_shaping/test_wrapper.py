import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.pong_shaping.wrapper import PongShaping
from utils.errors import ConfigError


class Field(gym.Env):
    """A game of Pong of which only the heights of ball and paddle are told."""

    action_space = gym.spaces.Discrete(3)
    observation_space = gym.spaces.Discrete(1)
    game = "pong"

    def __init__(self, heights, rewards):
        self._heights, self._rewards = heights, rewards
        self._t = 0

    def reset(self, *, seed=None, options=None):
        self._t = 0
        return 0, {}

    def step(self, action):
        self._t += 1
        is_last = self._t == len(self._rewards)
        return 0, self._rewards[self._t - 1], is_last, False, {}

    def read_objects(self):
        ball, player = self._heights[self._t]
        return {"ball y": ball, "player y": player}


def test_the_reward_is_shaped_by_the_distance_of_the_middles():
    heights = [(106.0, 84.0), (106.0, 68.0), (np.nan, 68.0), (100.0, 94.0)]
    env = PongShaping(Field(heights, [0.0, 1.0, 0.0]), gamma=0.5, scale=2.0)
    env.reset()
    # Middles of ball and paddle are 2 and 8 below their upper ends. Distances: |108 - 92| = 16,
    # |108 - 76| = 32; phi = -2 * 16 / 160 = -0.2, then -0.4, 0 without a ball, 0 at the end.
    shaped = []
    raw = []
    for _ in range(3):
        shaped.append(env.step(0)[1])
        raw.append(env.raw_reward)
    assert shaped == pytest.approx([0.5 * -0.4 + 0.2, 1.0 + 0.4, 0.0])
    assert raw == [0.0, 1.0, 0.0]


def test_a_new_game_begins_with_the_potential_of_its_own_first_state():
    env = PongShaping(Field([(106.0, 84.0), (106.0, 100.0)], [0.0]), gamma=1.0)
    for _ in range(2):
        env.reset()
        assert env.step(0)[1] == pytest.approx(0.1)  # phi was -16 / 160 and ends as 0


def test_other_games_are_refused():
    env = Field([(0.0, 0.0)], [0.0])
    env.game = "breakout"
    with pytest.raises(ConfigError, match="PongShaping needs ALE/Pong-v5"):
        PongShaping(env, gamma=0.99)


def test_a_real_game_pays_for_following_the_ball():
    pytest.importorskip("ale_py")
    from gym_envs.atari import AtariEnv
    from utils.config.atari import ATARI_DEFAULTS

    settings = {**ATARI_DEFAULTS, "obs_type": "ram", "repeat_action_probability": 0.0}
    totals = {}
    for follows in (True, False):
        env = PongShaping(AtariEnv(game="pong", **settings), gamma=1.0)
        env.reset(seed=0)
        core, total = env.unwrapped, 0.0
        for _ in range(200):
            objects = core.read_objects()
            is_above = objects["ball y"] + 2 < objects["player y"] + 8
            _, reward, *_ = env.step((2 if is_above else 3) if follows else 2)
            total += reward - env.raw_reward
        totals[follows] = total
    assert totals[True] > totals[False]
