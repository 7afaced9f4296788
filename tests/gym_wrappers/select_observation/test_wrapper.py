import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.select_observation.wrapper import SelectObservation
from utils.environment import build_env
from utils.errors import ConfigError


def test_the_chosen_numbers_are_shown_in_their_order():
    env = SelectObservation(gym.make("CartPole-v1"), indices=[2, 0])
    row, _ = env.reset(seed=0)
    whole, _ = gym.make("CartPole-v1").reset(seed=0)
    np.testing.assert_array_equal(row, [whole[2], whole[0]])
    assert env.observation_space.high[1] == pytest.approx(4.8)
    assert env.step(0)[0].shape == (2,)


@pytest.mark.parametrize("indices", [[], [0, 0], [4], [-1], [0.0, 1.0], [True]])
def test_indices_that_choose_nothing_are_refused(indices):
    with pytest.raises(ConfigError, match="different whole numbers from 0 to 3"):
        SelectObservation(gym.make("CartPole-v1"), indices=indices)


def test_only_vectors_have_entries_to_choose():
    with pytest.raises(ConfigError, match="needs a vector"):
        SelectObservation(gym.make("FrozenLake-v1"), indices=[0])


def test_it_comes_by_its_name():
    wrappers = [{"id": "SelectObservation", "indices": [0, 2]}]
    env = build_env("CartPole-v1", n_envs=3, env_wrappers=wrappers)
    assert env.single_observation_space.shape == (2,)
    assert env.vectorization_name == "sync"
    env.close()
