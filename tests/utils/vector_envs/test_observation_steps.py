from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from tests.helpers import envs
from utils.errors import ConfigError, MissingDependencyError
from utils.vector_envs import InProcessVectorEnv, ObservationOptions


def make(env_class: type, n_envs: int = 1, *, env: dict | None = None, **options: Any) -> Any:
    return InProcessVectorEnv(
        [lambda: env_class(**(env or {}))] * n_envs,
        env_id=env_class.__name__,
        options=ObservationOptions(**options),
    )


def zeros(env: InProcessVectorEnv) -> np.ndarray:
    return np.zeros(env.num_envs, int)


def observe(space: gym.Space, value: Any, **options: Any) -> tuple[np.ndarray, gym.Space]:
    env = make(envs.SpaceEnv, env={"space": space, "value": value}, **options)
    return env.reset(seed=0)[0], env.single_observation_space


@pytest.mark.parametrize("shape", [(3, 40, 60), (40, 60, 3)])
@pytest.mark.parametrize("is_declared", [False, True])
def test_pictures_of_either_order_become_channel_first(
    shape: tuple[int, ...], is_declared: bool
) -> None:
    frame = np.zeros(shape, np.uint8)
    is_first = shape[0] == 3
    frame[(1, 5, 7) if is_first else (5, 7, 1)] = 200
    order = ("first" if is_first else "last") if is_declared else "auto"
    obs, space = observe(spaces.Box(0, 255, shape, np.uint8), frame, channel_order=order)
    assert obs.shape == (1, 3, 40, 60)
    assert obs[0, 1, 5, 7] == 200
    assert obs.sum() == 200
    assert space == spaces.Box(0, 255, (3, 40, 60), np.uint8)


def test_a_gray_picture_without_a_channel_axis_gets_one() -> None:
    frame = np.arange(40 * 60, dtype=np.uint8).reshape(40, 60)
    obs, _ = observe(spaces.Box(0, 255, (40, 60), np.uint8), frame)
    np.testing.assert_array_equal(obs, frame[None, None])


@pytest.mark.parametrize("shape", [(3, 4, 3), (7, 7, 3), (3, 40, 3), (40, 60, 7), (5, 5, 5)])
def test_what_may_or_may_not_be_a_picture_needs_a_channel_order(shape: tuple[int, ...]) -> None:
    space = spaces.Box(0, 255, shape, np.uint8)
    with pytest.raises(ConfigError, match=r"channel_order to first .*, last .*, or none"):
        observe(space, np.zeros(shape, np.uint8))
    obs, stored = observe(space, np.ones(shape, np.uint8), channel_order="none")
    # Flat: nothing downstream can take it for a picture.
    assert obs.shape == (1, int(np.prod(shape)))
    assert stored.shape == obs.shape[1:]
    assert (obs == 1).all()


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 1, (5, 5, 5), np.float32),
        spaces.Box(0, 10, (7, 7, 3), np.uint8),
        spaces.Box(0, 255, (40, 60, 3), np.float32),
        spaces.Box(0, 255, (128,), np.uint8),
    ],
)
def test_what_is_not_a_picture_is_left_alone(space: spaces.Box) -> None:
    value = np.zeros(space.shape, space.dtype)
    value.flat[3] = 1
    obs, stored = observe(space, value)
    np.testing.assert_array_equal(obs[0], value)
    assert stored == space


def test_gray_is_the_weighted_mean_of_the_colours() -> None:
    frame = np.zeros((20, 20, 3), np.uint8)
    frame[0, 0], frame[0, 1], frame[0, 2] = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    frame[0, 3] = 255
    obs, space = observe(spaces.Box(0, 255, (20, 20, 3), np.uint8), frame, grayscale=True)
    # 0.299 * 255 = 76.2, 0.587 * 255 = 149.7, 0.114 * 255 = 29.1
    assert obs[0, 0, 0, :5].tolist() == [76, 150, 29, 255, 0]
    assert space.shape == (1, 20, 20)


@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 1), (1, 20, 30)])
def test_a_gray_picture_cannot_be_made_gray(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"grayscale_obs has no effect: .* gray already"):
        make(envs.PictureEnv, env={"shape": shape}, grayscale=True)


@pytest.mark.parametrize("shape", [(20, 30, 12), (20, 30, 2), (20, 30, 4)])
def test_a_stack_of_pictures_cannot_be_made_gray(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match=rf"grayscale_obs needs .* 3 channels.* has {shape[2]}"):
        make(envs.PictureEnv, env={"shape": shape}, grayscale=True, channel_order="last")


def test_beside_a_colour_picture_a_gray_one_stays() -> None:
    parts = {"depth": (16, 20), "view": (16, 20, 3)}
    space = spaces.Dict({key: spaces.Box(0, 255, shape, np.uint8) for key, shape in parts.items()})
    value = {key: np.full(shape, 9, np.uint8) for key, shape in parts.items()}
    obs, _ = observe(space, value, grayscale=True)
    assert {key: part.shape for key, part in obs.items()} == dict.fromkeys(parts, (1, 1, 16, 20))


@pytest.mark.parametrize("is_first", [False, True])
def test_resizing_averages_what_falls_into_one_pixel(is_first: bool) -> None:
    pytest.importorskip("cv2")
    frame = np.zeros((20, 40, 3), np.uint8)
    frame[0:2, 0:2, 1] = [[10, 20], [30, 40]]
    if is_first:
        frame = frame.transpose(2, 0, 1)
    obs, space = observe(spaces.Box(0, 255, frame.shape, np.uint8), frame, resize=(10, 20))
    assert space.shape == obs.shape[1:] == (3, 10, 20)
    assert obs[0, 1, 0, 0] == 25  # (10 + 20 + 30 + 40) / 4
    assert obs.sum() == 25


def test_resizing_without_opencv_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[image\]"):
        make(envs.PictureEnv, resize=(10, 10))


@pytest.mark.parametrize(
    "options", [{"grayscale": True}, {"resize": (8, 8)}, {"channel_order": "first"}]
)
def test_picture_options_without_a_picture_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="has no effect: no observation is a picture"):
        make(envs.CountingEnv, **options)


# -- frame stacks ---------------------------------------------------------------------------------


def test_colour_frames_are_stacked_whole_oldest_first() -> None:
    env = make(
        envs.PictureEnv, env={"shape": (2, 2, 3), "length": 9}, frame_stack=4, channel_order="last"
    )
    env.reset(seed=0)
    for _ in range(4):
        obs = env.step(zeros(env))[0]
    assert obs.shape == (1, 12, 2, 2)
    assert obs[0, :, 0, 0].tolist() == [2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]


def test_the_final_stack_belongs_to_the_episode_and_the_next_begins_anew() -> None:
    env = make(
        envs.PictureEnv,
        2,
        env={"shape": (16, 16, 1), "length": 4, "ending": "truncated"},
        frame_stack=4,
    )
    obs, _ = env.reset(seed=0)
    assert obs[1, :, 0, 0].tolist() == [1, 1, 1, 1]
    for _ in range(4):
        obs, _, _, truncated, infos = env.step(zeros(env))
    assert truncated.all()
    assert infos["final_obs"][1, :, 0, 0].tolist() == [2, 3, 4, 5]
    assert obs[1, :, 0, 0].tolist() == [1, 1, 1, 1]
    obs = env.step(zeros(env))[0]
    assert obs[1, :, 0, 0].tolist() == [1, 1, 1, 2]


def test_vectors_are_stacked_too() -> None:
    env = make(envs.CountingEnv, frame_stack=3)
    env.reset(seed=0)
    env.step(zeros(env))
    assert env.step(zeros(env))[0].tolist() == [[0.0, 1.0, 2.0]]
    assert env.single_observation_space.shape == (3,)


def test_a_stack_does_not_depend_on_what_the_caller_does_to_it() -> None:
    env = make(envs.PictureEnv, env={"shape": (16, 16, 1)}, frame_stack=2)
    obs, _ = env.reset(seed=0)
    obs[:] = 99
    obs = env.step(zeros(env))[0]
    assert obs[0, :, 0, 0].tolist() == [1, 2]


def test_in_a_mixed_observation_only_pictures_are_stacked() -> None:
    space = spaces.Dict(
        {"image": spaces.Box(0, 255, (16, 16, 1), np.uint8), "speed": spaces.Box(0, 1, (2,))}
    )
    value = {"image": np.ones((16, 16, 1), np.uint8), "speed": np.zeros(2, np.float32)}
    obs, _ = observe(space, value, frame_stack=4)
    assert {key: part.shape for key, part in obs.items()} == {
        "image": (1, 4, 16, 16),
        "speed": (1, 2),
    }


def test_numbers_that_name_things_cannot_be_stacked() -> None:
    with pytest.raises(ConfigError, match=r"frame_stack needs .* not Discrete"):
        make(envs.IdentityEnv, frame_stack=4)


def test_a_restored_stack_goes_on() -> None:
    make_env = lambda: make(  # noqa: E731
        envs.PictureEnv, env={"shape": (16, 16, 1), "length": 9}, frame_stack=4
    )
    env = make_env()
    env.reset(seed=0)
    for _ in range(6):
        env.step(zeros(env))
    other = make_env()
    obs, restored = other.set_state(env.get_state())
    assert restored.all()
    assert obs[0, :, 0, 0].tolist() == [4, 5, 6, 7]
    assert other.step(zeros(other))[0][0, :, 0, 0].tolist() == [5, 6, 7, 8]
