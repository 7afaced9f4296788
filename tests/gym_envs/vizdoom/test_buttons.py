"""Names of actions and what they press; no engine is needed."""

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.vizdoom.buttons import ButtonActions
from utils.config import load_config
from utils.environment import build_env
from utils.errors import ConfigError

BASIC = ("MOVE_LEFT", "MOVE_RIGHT", "ATTACK")
MIXED = ("ATTACK", "TURN_LEFT_RIGHT_DELTA", "MOVE_FORWARD")


def test_single_buttons_come_after_doing_nothing():
    actions = ButtonActions(BASIC, "buttons")
    assert actions.space == gym.spaces.Discrete(4)
    assert actions.names == ("NO_OP", *BASIC)
    assert [actions.presses(i) for i in range(4)] == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def test_combinations_leave_out_contradictions():
    actions = ButtonActions(BASIC, "combinations")
    # {none, left, right} x {none, attack}; never left and right at once
    assert set(actions.names) == {
        "NO_OP", "ATTACK", "MOVE_LEFT", "MOVE_LEFT+ATTACK", "MOVE_RIGHT", "MOVE_RIGHT+ATTACK",
    }  # fmt: skip
    assert actions.presses(actions.names.index("MOVE_RIGHT+ATTACK")) == (0, 1, 1)
    assert not any(actions.presses(i)[:2] == (1, 1) for i in range(actions.space.n))


def test_at_most_one_weapon_is_selected():
    actions = ButtonActions(
        ("SELECT_WEAPON1", "SELECT_WEAPON2", "SELECT_NEXT_WEAPON"), "combinations"
    )
    assert actions.names == ("NO_OP", "SELECT_WEAPON1", "SELECT_WEAPON2", "SELECT_NEXT_WEAPON")


def test_any_buttons_as_bits_without_the_delta_buttons():
    actions = ButtonActions(MIXED, "multi_binary")
    assert actions.space == gym.spaces.MultiBinary(2)
    assert actions.names == ("ATTACK", "MOVE_FORWARD")
    assert actions.presses(np.array([1, 1], np.int8)) == [1.0, 0.0, 1.0]
    assert actions.presses(np.array([0, 1], np.int8)) == [0.0, 0.0, 1.0]


def test_a_list_names_what_each_action_presses():
    actions = ButtonActions(MIXED, ["NO_OP", "ATTACK + MOVE_FORWARD", "TURN_LEFT_RIGHT_DELTA=-7.5"])
    assert [actions.presses(i) for i in range(3)] == [(0, 0, 0), (1, 0, 1), (0, -7.5, 0)]


@pytest.mark.parametrize(
    ("buttons", "actions", "told"),
    [
        (BASIC, ["JUMP"], "no button 'JUMP'; it has MOVE_LEFT, MOVE_RIGHT, ATTACK"),
        (BASIC, ["ATTACK=fast"], "'fast' is not a number"),
        (BASIC, [], "the list is empty"),
        (BASIC, 3, "actions: 3 is not one of buttons"),
        (BASIC, "all", "'all' is not one of buttons, combinations, multi_binary"),
        (("LOOK_UP_DOWN_DELTA",), "buttons", "no button that is on or off"),
        ([f"USER{i}" for i in range(10)], "combinations", "make 1024 of them; list the useful"),
    ],
)
def test_mistakes_are_told(buttons, actions, told):
    with pytest.raises(ConfigError, match=told) as caught:
        ButtonActions(buttons, actions)
    assert "\n" not in str(caught.value)


CONFIGS = [
    f"VizDoom-{name}:ppo"
    for name in (
        "Basic", "DeadlyCorridor", "Deathmatch", "DefendTheCenter", "DefendTheLine",
        "HealthGathering", "HealthGatheringSupreme", "MyWayHome", "PredictPosition", "RocketBasic",
        "SimplerBasic", "TakeCover",
    )
]  # fmt: skip


@pytest.mark.parametrize("config_id", CONFIGS)
def test_the_labels_of_a_config_say_what_its_actions_press(config_id):
    pytest.importorskip("vizdoom")
    config = load_config(config_id)
    env = build_env(config.env_id, n_envs=1, vectorization="sync", env_kwargs=config.env_kwargs)
    names = env.envs[0].unwrapped.action_names
    env.close()
    for label, name in zip(config.spec.action.labels, names, strict=True):
        for said, pressed in zip(label.split(" and "), name.split("+"), strict=True):
            button = pressed.lower().replace("_", " ")
            assert button.endswith(said) or (said, pressed) == ("nothing", "NO_OP"), (label, name)
