import gymnasium as gym
import numpy as np
import pytest

from utils.playback.key_maps import build_key_map
from utils.playback.key_words import CONTROL_KEYS

ATARI = ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
GRID = ["turn left", "turn right", "forward", "pick up", "drop", "toggle", "done"]


def discrete(labels, env_keys=None, start=0):
    return build_key_map(gym.spaces.Discrete(len(labels), start=start), labels, env_keys)


def choose(key_map, *held):
    action = key_map.action(held)
    return None if action is None else action.tolist()


def test_keys_that_are_held_together_are_one_choice():
    keys = discrete(ATARI)
    assert keys.acts_alone
    assert keys.keys == ("no key", "space", "right", "left", "right+space", "left+space")
    assert choose(keys) == 0
    assert choose(keys, "space") == 1
    assert choose(keys, "left", "space") == 5
    assert choose(keys, "space", "left") == 5
    assert choose(keys, "z") == 0


def test_the_newest_of_opposite_keys_counts_and_letters_are_arrows():
    keys = discrete(ATARI)
    assert choose(keys, "left", "right") == 2
    assert choose(keys, "right", "left") == 3
    assert choose(keys, "d", "space", "a") == 5


def test_without_an_action_for_nothing_no_key_is_no_action():
    keys = discrete(["push left", "push right"])
    assert not keys.acts_alone
    assert choose(keys) is None
    assert choose(keys, "right") == 1


def test_what_has_no_key_by_name_gets_digits_then_letters():
    keys = discrete(GRID)
    assert keys.keys == ("left", "right", "up", "1", "2", "3", "4")
    assert choose(keys, "3") == 5
    many = discrete([f"arm {k}" for k in range(40)])
    taken = [key for key in many.keys if key]
    assert taken[:11] == [*"1234567890", "e"]
    assert len(set(taken)) == len(taken) < 40
    assert not CONTROL_KEYS.intersection(taken)


def test_two_actions_of_one_name_have_different_keys():
    keys = discrete(["turn left", "left turn", "nothing", "wait"])
    assert keys.keys == ("left", "1", "no key", "2")


def test_an_environments_own_keys_come_first_with_its_first_action():
    keys = discrete(["a", "b", "nothing"], {("k",): -1, ("j",): 0, ("e",): 1}, start=-1)
    assert keys.keys == ("k", "j", "no key")
    assert choose(keys, "j") == 1
    not_understood = discrete(["push left", "push right"], {("p",): 0})
    assert not_understood.keys == ("left", "right")


def test_a_row_of_the_keyboard_for_each_part():
    space = gym.spaces.MultiDiscrete([3, 2, 4])
    labels = [
        f"{part}: {value}" for part, n in zip("abc", (3, 2, 4), strict=True) for value in range(n)
    ]
    keys = build_key_map(space, labels)
    assert keys.keys == ("-", "1", "2", "-", "e", "-", "f", "g", "h")
    assert choose(keys) == [0, 0, 0]
    assert choose(keys, "2", "h") == [2, 0, 3]
    assert choose(keys, "e", "1", "w") == [1, 1, 0]
    assert all(space.contains(keys.action([a, b, c])) for a in "12" for b in "ex" for c in "fgh")


def test_a_key_for_each_bit():
    keys = build_key_map(gym.spaces.MultiBinary(4), ["B", "UP", "LEFT", "up"])
    assert keys.keys == ("1", "up", "left", "2")
    assert choose(keys) == [0, 0, 0, 0]
    assert choose(keys, "w", "1") == [1, 1, 0, 0]
    assert choose(keys, "left", "2") == [0, 0, 1, 1]


def test_entries_of_a_box_go_to_their_bounds_and_rest_between():
    space = gym.spaces.Box(np.array([-2, -1], np.float32), np.array([2, np.inf], np.float32))
    keys = build_key_map(space, ["torque", "entry 1"])
    assert keys.keys == ("left/right", "down/up")
    assert choose(keys) == [0.0, 0.0]
    assert choose(keys, "left") == [-2.0, 0.0]
    assert choose(keys, "left", "right", "w") == [2.0, 1.0]
    assert keys.action(["left"]).dtype == np.float32


def test_a_car_steers_sideways_and_has_two_pedals():
    space = gym.spaces.Box(np.array([-1, 0, 0], np.float32), np.ones(3, np.float32))
    keys = build_key_map(space, ["steer", "gas", "brake"])
    assert keys.keys == ("left/right", "up", "down")
    assert choose(keys, "up", "left") == [-1.0, 1.0, 0.0]
    assert choose(keys, "down") == [0.0, 0.0, 1.0]


def test_many_entries_take_pairs_of_letters_until_there_are_none():
    labels = [f"joint {k}" for k in range(10)]
    keys = build_key_map(gym.spaces.Box(-1, 1, (10,)), labels)
    assert keys.keys[:4] == ("left/right", "down/up", "a/d", "s/w")
    assert keys.keys[8:] == ("", "")
    assert choose(keys, "a") == [0.0, 0.0, -1.0, *[0.0] * 7]  # a letter of its own, no arrow
    taken = "/".join(key for key in keys.keys if key).split("/")
    assert len(set(taken)) == len(taken) == 16
    assert not CONTROL_KEYS.intersection(taken)


def test_shapes_are_kept():
    keys = build_key_map(gym.spaces.Box(-1, 1, (2, 2)), ["a", "b", "c", "d"])
    assert keys.action(["up"]).tolist() == [[0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("rest", [0.25, -0.5])
def test_where_nothing_is_out_of_bounds_the_nearest_value_rests(rest):
    low, high = sorted((rest, 2 * rest))
    keys = build_key_map(gym.spaces.Box(low, high, (1,)), ["x"])
    assert choose(keys) == [rest]
