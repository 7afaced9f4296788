"""Which settings only some observation spaces give a meaning."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from utils.spaces import unread_faults, unread_settings

PICTURE = Box(0, 255, (3, 64, 64), np.uint8)
NUMBERS = Box(-1.0, 1.0, (2,))


@pytest.mark.parametrize(
    ("space", "unread"),
    [
        (NUMBERS, {"depth"}),
        (Discrete(3), {"depth"}),
        (PICTURE, {"layers"}),
        (Dict(a=PICTURE, b=PICTURE), {"layers"}),
        (Dict(a=PICTURE, b=Discrete(2)), set()),
        (Dict(a=NUMBERS), {"depth"}),
    ],
)
def test_the_space_says_what_is_read(space, unread):
    found = unread_settings(space, of_pictures=["depth"], of_numbers=["layers"])
    assert set(found) == unread


def test_only_what_somebody_wrote_is_a_fault():
    unread = unread_settings(Discrete(3), of_pictures=["depth", "pictures"])
    assert unread_faults(Discrete(3), unread, {"depth", "units"}) == [
        "'policy_kwargs.depth' has no effect on the observation space Discrete(3): it holds no "
        "picture for convolutions"
    ]
