from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.normalization import ObservationNormalizer, build_observation_normalizer

UNBOUNDED = gym.spaces.Box(-np.inf, np.inf, (1,))
CART_POLE = gym.spaces.Box(
    np.array([-4.8, -np.inf, -0.4, -np.inf], np.float32),
    np.array([4.8, np.inf, 0.4, np.inf], np.float32),
)
PICTURE = gym.spaces.Box(0, 255, (1, 36, 36), np.uint8)


def build(space: gym.Space, mode: str, limit: float = 10.0) -> ObservationNormalizer:
    return build_observation_normalizer(space, mode=mode, limit=limit)


def test_rolling_subtracts_the_mean_and_divides_by_the_spread() -> None:
    normalizer = build(UNBOUNDED, "rolling")
    normalizer.update(torch.tensor([[1000.0], [1001.0], [1000.0], [1001.0]]))
    # mean 1000.5, variance 0.25: (1001 - 1000.5) / 0.5
    result = normalizer(torch.tensor([[1001.0], [1000.0], [1000.5]]))
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, torch.tensor([[1.0], [-1.0], [0.0]]), rtol=1e-5, atol=1e-6)


def test_rolling_clips_on_both_sides() -> None:
    normalizer = build(UNBOUNDED, "rolling", limit=3.0)
    normalizer.update(torch.tensor([[-1.0], [1.0]]))
    result = normalizer(torch.tensor([[2.0], [50.0], [-50.0]]))
    torch.testing.assert_close(result, torch.tensor([[2.0], [3.0], [-3.0]]), rtol=1e-5, atol=0)


def test_rolling_applies_without_learning() -> None:
    normalizer = build(UNBOUNDED, "rolling")
    normalizer.update(torch.tensor([[1.0], [3.0]]))
    before = {key: value.clone() for key, value in normalizer.state_dict().items()}
    x = torch.tensor([[77.0]])
    first = normalizer(x)
    assert torch.equal(normalizer(x), first)
    assert x.item() == 77.0
    after = normalizer.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_rolling_uses_what_it_learnt_last() -> None:
    normalizer = build(UNBOUNDED, "rolling")
    x = torch.tensor([[4.0]])
    assert normalizer(x).item() == 4.0
    normalizer.update(torch.tensor([[0.0], [4.0]]))
    assert normalizer(x).item() == pytest.approx(1.0)
    normalizer.update(torch.tensor([[2.0], [2.0]]))
    # mean 2, variance (4 + 4 + 0 + 0) / 4 = 2
    assert normalizer(x).item() == pytest.approx(2 / 2**0.5)


def test_rolling_statistics_travel_with_the_weights() -> None:
    trained, fresh = build(UNBOUNDED, "rolling"), build(UNBOUNDED, "rolling")
    trained.update(torch.tensor([[1000.0], [1001.0]]))
    assert fresh(torch.tensor([[1001.0]])).item() == 10.0
    fresh.load_state_dict(trained.state_dict())
    assert fresh(torch.tensor([[1001.0]])).item() == pytest.approx(1.0)


def test_rolling_reads_each_dimension_by_itself() -> None:
    normalizer = build(gym.spaces.Box(-np.inf, np.inf, (2, 2)), "rolling")
    normalizer.update(torch.tensor([[[0.0, 10.0], [5.0, 0.0]], [[2.0, 30.0], [5.0, 8.0]]]))
    result = normalizer(torch.tensor([[[2.0, 10.0], [5.0, 4.0]]]))
    expected = torch.tensor([[[1.0, -1.0], [0.0, 0.0]]])
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_static_scales_bounded_dimensions_and_leaves_the_others() -> None:
    normalizer = build(CART_POLE, "static")
    result = normalizer(torch.tensor([[2.4, 9.0, -0.4, -1000.0]]))
    # 2.4 / 4.8 = 0.5;  -0.4 / 0.4 = -1; no bounds, no change
    torch.testing.assert_close(result, torch.tensor([[0.5, 9.0, -1.0, -1000.0]]))
    assert normalizer.unbounded_dims == [1, 3]


def test_static_centres_bounds_that_are_not_symmetric() -> None:
    low, high = np.array([0, -1, 3, 0], np.float32), np.array([10, 3, 3, np.inf], np.float32)
    normalizer = build(gym.spaces.Box(low, high), "static")
    result = normalizer(torch.tensor([[7.5, -1.0, 3.0, 4.0]]))
    # (7.5 - 5) / 5;  (-1 - 1) / 2;  a dimension of one value and one with half a bound stay
    torch.testing.assert_close(result, torch.tensor([[0.5, -1.0, 3.0, 4.0]]))


def test_static_takes_the_largest_float_for_no_bound() -> None:
    largest = np.finfo(np.float32).max
    low, high = np.array([-largest, -1], np.float32), np.array([largest, 1], np.float32)
    result = build(gym.spaces.Box(low, high), "static")(torch.tensor([[7.0, 0.5]]))
    torch.testing.assert_close(result, torch.tensor([[7.0, 0.5]]))


def test_dicts_normalise_vectors_and_leave_pictures_and_integers() -> None:
    space = gym.spaces.Dict(
        {"speed": UNBOUNDED, "camera": PICTURE, "gear": gym.spaces.Discrete(3), "angle": UNBOUNDED}
    )
    normalizer = build(space, "rolling")
    observation = {
        "angle": torch.tensor([[0.0], [4.0]]),
        "speed": torch.tensor([[10.0], [30.0]]),
        "camera": torch.full((2, 1, 36, 36), 9, dtype=torch.uint8),
        "gear": torch.tensor([0, 2]),
    }
    normalizer.update(observation)
    result = normalizer(observation)
    assert result["angle"].flatten().tolist() == pytest.approx([-1, 1])
    assert result["speed"].flatten().tolist() == pytest.approx([-1, 1])
    assert torch.equal(result["camera"], observation["camera"])
    assert torch.equal(result["gear"], observation["gear"])
    assert normalizer.learns
    assert not build(gym.spaces.Dict(x=CART_POLE), "static").learns


def test_none_passes_through() -> None:
    normalizer = build(CART_POLE, "none")
    x = torch.randn(2, 4)
    normalizer.update(x)
    assert normalizer(x) is x
    assert normalizer.is_identity
    assert not normalizer.learns


@pytest.mark.parametrize(
    ("space", "mode"),
    [
        (PICTURE, "rolling"),
        (gym.spaces.Discrete(3), "rolling"),
        (gym.spaces.Discrete(3), "static"),
        (gym.spaces.Box(0, 9, (2,), np.int64), "rolling"),
        (UNBOUNDED, "static"),
        (gym.spaces.Dict(a=PICTURE, b=gym.spaces.Discrete(2)), "rolling"),
        (gym.spaces.Dict(a=UNBOUNDED), "static"),
    ],
)
def test_a_mode_without_effect_is_refused(space: gym.Space, mode: str) -> None:
    with pytest.raises(ConfigError, match=f"normalize_obs: {mode}"):
        build(space, mode)
