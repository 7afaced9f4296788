import numpy as np
import pytest
from gymnasium import spaces

from tests.helpers.envs import PictureEnv, SpaceEnv
from utils.inspection.observations import MOST_NUMBERS, ObservationReader
from utils.vector_envs import InProcessVectorEnv, ObservationOptions


def build(factory, **options):
    return InProcessVectorEnv([factory], env_id="Test-v0", options=ObservationOptions(**options))


def first_observation(env):
    return env.reset(seed=0)[0]


def test_numbers_have_the_names_of_the_config():
    env = build(lambda: SpaceEnv(spaces.Box(-1, 1, (2,), np.float64), np.array([0.25, -0.5])))
    reader = ObservationReader(env, labels=["x", "y"])
    assert reader.describe["labels"] == ["x", "y"]
    assert reader.read(first_observation(env)).tolist() == [0.25, -0.5]
    assert reader.view is None
    assert ObservationReader(env, labels=["x"]).describe["labels"] == ["[0]", "[1]"]


def test_stacked_numbers_say_when_they_were():
    env = build(lambda: SpaceEnv(spaces.Box(-1, 1, (1,)), np.zeros(1, np.float32)), frame_stack=3)
    labels = ObservationReader(env, labels=["x"]).describe["labels"]
    assert labels == ["x, 2 before", "x, 1 before", "x, now"]


def test_the_parts_of_a_dict_are_named_by_their_keys():
    space = spaces.Dict({"b": spaces.Box(0, 9, (2,)), "a": spaces.Discrete(4)})
    env = build(lambda: SpaceEnv(space, {"b": np.array([7, 8], np.float32), "a": 3}))
    reader = ObservationReader(env)
    assert reader.describe["labels"] == ["a", "b[0]", "b[1]"]
    assert reader.read(first_observation(env)).tolist() == [3.0, 7.0, 8.0]


def test_named_values_of_a_discrete_observation():
    env = build(lambda: SpaceEnv(spaces.Discrete(2), 1))
    described = ObservationReader(env, labels=["start", "goal"]).describe
    assert described["labels"] == ["state"]
    assert described["value_labels"] == ["start", "goal"]


def test_more_numbers_than_anybody_looks_at_are_counted():
    env = build(lambda: SpaceEnv(spaces.Box(0, 1, (1100,)), np.zeros(1100, np.float32)))
    reader = ObservationReader(env)
    assert reader.describe["n_left_out"] == 1100 - MOST_NUMBERS
    assert len(reader.read(first_observation(env))) == len(reader.describe["labels"])


def test_the_view_shows_stacked_frames_side_by_side_with_their_very_pixels():
    env = build(lambda: PictureEnv(shape=(40, 60, 3), first=10), frame_stack=2)
    reader = ObservationReader(env)
    env.reset(seed=0)
    observation = env.step(np.array([0]))[0]
    picture = reader.picture(observation)
    # 40 rows are enlarged fourfold to 160; two frames of 240 columns with a gap of 4 between.
    assert picture.shape == (160, 484, 3)
    assert (reader.view["width"], reader.view["height"]) == (484, 160)
    assert reader.view["titles"] == ["1 before", "now"]
    assert (picture[:, :240] == 10).all()
    assert (picture[:, 244:] == 11).all()
    assert reader.read(observation).size == 0


def test_grey_frames_become_tiles_and_colours_stay_together():
    pixels = np.zeros((40, 40, 3), np.uint8)
    pixels[..., 0] = 200
    space = spaces.Box(0, 255, (40, 40, 3), np.uint8)
    colour = build(lambda: SpaceEnv(space, pixels))
    assert ObservationReader(colour).picture(first_observation(colour))[0, 0].tolist() == [
        200,
        0,
        0,
    ]
    grey = build(lambda: SpaceEnv(space, pixels), grayscale=True, frame_stack=4)
    reader = ObservationReader(grey)
    assert len(reader.view["titles"]) == 4
    # 0.299 * 200 = 59.8
    assert reader.picture(first_observation(grey))[0, 0].tolist() == [60, 60, 60]


@pytest.mark.parametrize("part", ["picture", "numbers"])
def test_the_digest_covers_every_byte(part):
    space = spaces.Dict(
        {
            "picture": spaces.Box(0, 255, (40, 40, 3), np.uint8),
            "numbers": spaces.Box(0, 9, (2,)),
        }
    )
    value = {"picture": np.zeros((40, 40, 3), np.uint8), "numbers": np.zeros(2, np.float32)}
    env = build(lambda: SpaceEnv(space, value))
    reader = ObservationReader(env)
    before = reader.digest(first_observation(env))
    value[part].reshape(-1)[-1] = 1
    assert reader.digest(first_observation(env)) != before
