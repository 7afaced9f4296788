"""Names of actions and what they press on a pad; no emulator is needed."""

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.retro.buttons import PadActions
from utils.errors import ConfigError

NES = ("B", None, "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT", "A")
GENESIS = ("B", "A", "MODE", "START", "UP", "DOWN", "LEFT", "RIGHT", "C", "Y", "X", "Z")
GROUPS = (((), ("UP",), ("DOWN",)), ((), ("A",), ("A", "B")))


def test_a_console_has_directions_with_its_main_buttons():
    nes, genesis = PadActions(NES, GROUPS, "console"), PadActions(GENESIS, GROUPS, "console")
    assert nes.space == genesis.space == gym.spaces.Discrete(20)  # 5 directions x 4
    assert nes.names[:6] == ("NO_OP", "UP", "DOWN", "LEFT", "RIGHT", "A")
    assert {"LEFT+A+B", "RIGHT+B"} <= set(nes.names)
    assert {"RIGHT+C", "DOWN+A"} <= set(genesis.names)
    assert not any("START" in name or "X" in name for name in genesis.names)
    assert nes.mask(nes.names.index("RIGHT+B")).tolist() == [1, 0, 0, 0, 0, 0, 0, 1, 0]
    assert PadActions(("BUTTON", None, "UP"), GROUPS, "console").names == (
        "NO_OP", "UP", "BUTTON", "UP+BUTTON",
    )  # fmt: skip


def test_combinations_take_one_entry_of_each_group():
    actions = PadActions(NES, GROUPS, "combinations")
    assert actions.names == (
        "NO_OP", "A", "A+B", "UP", "UP+A", "UP+A+B", "DOWN", "DOWN+A", "DOWN+A+B",
    )  # fmt: skip
    assert actions.mask(5).tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1]


def test_bits_leave_out_what_is_no_button():
    actions = PadActions(NES, GROUPS, "multi_binary")
    assert actions.space == gym.spaces.MultiBinary(8)
    assert actions.names == ("B", "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT", "A")
    pressed = np.array([1, 0, 0, 0, 0, 0, 0, 1], np.int8)
    assert actions.mask(pressed).tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        (["NO_OP", "RIGHT+C"], r"'RIGHT\+C': the pad has no button 'C'; it has B, SELECT"),
        ("discrete", "'discrete' is not one of console, combinations, multi_binary"),
        (3, "actions: 3 is not one of console"),
        ([], "the list is empty"),
    ],
)
def test_mistakes_are_told(actions, told):
    with pytest.raises(ConfigError, match=told):
        PadActions(NES, GROUPS, actions)
