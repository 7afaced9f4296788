from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from utils.normalization import MinMaxScale, build_min_max_normalizer, fit_min_max_


def test_what_was_seen_lies_between_minus_one_and_one() -> None:
    scale = MinMaxScale((2,))
    values = torch.tensor([[0.0, -4.0], [10.0, 0.0], [5.0, 4.0]])
    scale.fit_(values)
    assert scale(values).tolist() == [[-1, -1], [1, 0], [0, 1]]
    assert scale.inverse(scale(values)).tolist() == values.tolist()


def test_a_number_that_never_changes_is_shifted_and_not_blown_up() -> None:
    scale = MinMaxScale((1,))
    scale.fit_(torch.tensor([[7.0], [7.0]]))
    assert scale(torch.tensor([[7.0], [7.5]])).tolist() == [[0.0], [0.5]]


def test_it_begins_as_the_identity_and_is_saved_with_the_weights() -> None:
    scale, other = MinMaxScale((3,)), MinMaxScale((3,))
    values = torch.tensor([[1.0, -2.0, 3.0]])
    assert scale(values).tolist() == values.tolist()
    scale.fit_(torch.cat([values, values * 3]))
    other.load_state_dict(scale.state_dict())
    assert other(values).tolist() == scale(values).tolist()


def test_only_vectors_of_floats_are_scaled() -> None:
    space = spaces.Dict(
        {
            "picture": spaces.Box(0, 255, (3, 40, 40), np.uint8),
            "place": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "mode": spaces.Discrete(3),
        }
    )
    normalizer = build_min_max_normalizer(space)
    observation = {
        "picture": torch.full((2, 3, 40, 40), 9, dtype=torch.uint8),
        "place": torch.tensor([[0.0, 1.0], [4.0, 3.0]]),
        "mode": torch.tensor([0, 2]),
    }
    fit_min_max_(normalizer, observation)
    scaled = normalizer(observation)
    assert torch.equal(scaled["picture"], observation["picture"])
    assert scaled["place"].tolist() == [[-1, -1], [1, 1]]
    assert scaled["mode"].tolist() == [0, 2]


@pytest.mark.parametrize("space", [spaces.Box(0, 255, (3, 40, 40), np.uint8), spaces.Discrete(3)])
def test_pictures_and_choices_alone_stay_as_they_are(space: spaces.Space) -> None:
    assert build_min_max_normalizer(space).is_identity
