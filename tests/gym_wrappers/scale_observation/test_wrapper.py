import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.scale_observation.wrapper import ScaleObservation
from utils.errors import ConfigError


class Shows(gym.Env):
    action_space = gym.spaces.Discrete(2)

    def __init__(self, space, observation):
        self.observation_space, self._observation = space, observation

    def reset(self, *, seed=None, options=None):
        return self._observation, {}


def test_bytes_are_scaled_by_their_bounds():
    space = gym.spaces.Box(0, 255, (4,), np.uint8)
    env = ScaleObservation(Shows(space, np.array([0, 51, 204, 255], np.uint8)))
    observation, _ = env.reset()
    # (51 - 127.5) / 127.5 = -0.6
    np.testing.assert_allclose(observation, [-1.0, -0.6, 0.6, 1.0], rtol=1e-6)
    assert observation.dtype == np.float32
    assert env.observation_space == gym.spaces.Box(-1.0, 1.0, (4,), np.float32)


def test_bounds_of_each_dimension_count_and_a_fixed_number_is_0():
    low, high = np.array([-2.0, 3.0], np.float32), np.array([6.0, 3.0], np.float32)
    env = ScaleObservation(Shows(gym.spaces.Box(low, high), np.array([4.0, 3.0], np.float32)))
    np.testing.assert_allclose(env.reset()[0], [0.5, 0.0])


@pytest.mark.parametrize(
    "space", [gym.spaces.Discrete(3), gym.spaces.Box(-np.inf, 1.0, (2,), np.float32)]
)
def test_what_has_no_bounds_is_refused(space):
    with pytest.raises(ConfigError, match="ScaleObservation needs a Box with finite bounds"):
        ScaleObservation(Shows(space, None))
