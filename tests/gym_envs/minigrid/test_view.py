import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("minigrid")

from utils.environment import build_env
from utils.errors import ConfigError


def build(env_id="MiniGrid-Empty-5x5-v0", **kwargs):
    limit = kwargs.pop("max_episode_steps", None)
    return build_env(env_id, n_envs=1, env_kwargs=kwargs, max_episode_steps=limit)


class Grid(gym.Env):
    """Shows a given 3 x 3 grid and direction."""

    observation_space = gym.spaces.Dict(
        {
            "image": gym.spaces.Box(0, 255, (3, 3, 3), np.uint8),
            "direction": gym.spaces.Discrete(4),
            "mission": gym.spaces.Text(9),
        }
    )
    action_space = gym.spaces.Discrete(7)

    def __init__(self):
        self.image = np.zeros((3, 3, 3), np.uint8)
        self.image[0, 0] = (10, 5, 2)  # the largest object, colour and state
        self.image[1, 0] = (4, 1, 0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"image": self.image, "direction": 3, "mission": "go"}, {}


def test_each_number_of_a_cell_and_the_direction_become_groups():
    from gym_envs.minigrid import MiniGridView

    row, _ = MiniGridView(Grid()).reset()
    # 11 objects, 6 colours, 3 states: 20 numbers a cell; cell [1, 0] is the fourth.
    assert row.shape == (9 * 20 + 4,)
    assert np.flatnonzero(row[:20]).tolist() == [10, 11 + 5, 17 + 2]
    assert np.flatnonzero(row[60:80]).tolist() == [4, 11 + 1, 17 + 0]
    assert row[-4:].tolist() == [0, 0, 0, 1]
    assert row.sum() == 9 * 3 + 1


def test_symbols_stay_as_they_are():
    from gym_envs.minigrid import MiniGridView

    view = MiniGridView(Grid(), observation="symbols")
    row, _ = view.reset()
    assert row[:3].tolist() == [10, 5, 2]
    assert row[9:12].tolist() == [4, 1, 0]
    assert row[-4:].tolist() == [0, 0, 0, 1]
    assert row in view.observation_space
    assert view.observation_space.high[:3].tolist() == [10, 5, 2]


@pytest.mark.parametrize("observation", ["one_hot", "symbols"])
def test_numbers_reach_the_network_unscaled_and_through_no_cnn(observation):
    import torch

    from utils.models import ObservationEncoder

    env = build(observation=observation)
    start, _ = env.reset(seed=0)
    encoder = ObservationEncoder(
        env.single_observation_space, feature_dim=512, orthogonal_init=True
    )
    assert not list(encoder.parameters())
    np.testing.assert_array_equal(encoder(torch.from_numpy(start)).numpy(), start)
    assert start.max() > (1 if observation == "symbols" else 0)
    env.close()


@pytest.mark.parametrize(
    ("env_id", "observation", "shape"),
    [
        ("MiniGrid-Empty-5x5-v0", "rgb_partial", (3, 56, 56)),
        ("MiniGrid-Empty-8x8-v0", "rgb", (3, 64, 64)),
        ("BabyAI-GoToRedBall-v0", "rgb_partial", (3, 56, 56)),
    ],
)
def test_pictures_are_for_a_cnn(env_id, observation, shape):
    env = build(env_id, observation=observation)
    assert env.single_observation_space.shape == shape
    row, _ = env.reset(seed=0)
    assert row[0].std() > 0
    env.close()


@pytest.mark.parametrize(
    ("env_id", "limit", "expected"),
    [
        ("MiniGrid-Empty-5x5-v0", None, 100),
        ("MiniGrid-Empty-5x5-v0", 7, 7),
        ("MiniGrid-Empty-5x5-v0", 150, 150),
        ("BabyAI-GoToRedBall-v0", 9, 9),
    ],
)
def test_its_own_limit_is_told_and_another_one_holds(env_id, limit, expected):
    env = build(env_id, max_episode_steps=limit)
    assert env.max_episode_steps == expected
    env.reset(seed=0)
    for count in range(1, expected + 1):
        _, _, terminated, truncated, _ = env.step(np.zeros(1, int))  # it turns on the spot
        assert (terminated[0], truncated[0]) == (False, count == expected)
    env.close()


def test_a_limit_that_is_drawn_for_each_episode_is_not_told():
    env = build("BabyAI-GoToRedBall-v0")
    assert env.max_episode_steps is None
    env.close()


def test_the_goal_terminates_even_in_the_last_step():
    env = build(max_episode_steps=5)
    env.reset(seed=0)
    # From the corner along two walls: 2 forward, a turn to the right, 2 forward.
    for action in (2, 2, 1, 2, 2):
        _, reward, terminated, truncated, _ = env.step(np.array([action]))
    assert (terminated[0], truncated[0]) == (True, False)
    assert reward[0] == pytest.approx(1 - 0.9 * 5 / 5)
    env.close()


def test_a_view_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="no observation 'onehot'; did you mean one_hot"):
        build(observation="onehot")
    with pytest.raises(ConfigError, match="no observation 'text'; it is one of one_hot"):
        build(observation="text")


def test_rejected_draws_are_not_printed(capsys):
    env = build("BabyAI-PutNextLocal-v0")
    for seed in range(20):
        env.reset(seed=seed)
    env.close()
    assert capsys.readouterr().out == ""


def test_a_running_episode_is_restored():
    env = build("MiniGrid-DoorKey-5x5-v0")
    env.reset(seed=0)
    for _ in range(9):
        env.step(env.action_space.sample())
    _, restored = env.set_state(env.get_state())
    assert restored.all()
    env.close()
