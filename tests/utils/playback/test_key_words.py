import numpy as np
import pytest

from utils.playback.key_words import chords_of_env, chords_of_labels, direction_of_label


@pytest.mark.parametrize(
    ("label", "keys"),
    [
        ("push left", {"left"}),
        ("accelerate right", {"right"}),
        ("north", {"up"}),
        ("move backward", {"down"}),
        ("main engine", {"up"}),
        ("LEFTFIRE", {"left", "space"}),
        ("UPRIGHT", {"up", "right"}),
        ("NOOP", set()),
        ("NO_OP", set()),
        ("nothing", set()),
        ("torque -1", {"left"}),
        ("arm 1", None),
        ("run and jump right", {"x", "space", "right"}),
        ("MOVE_FORWARD+SPEED", {"up", "x"}),
        ("pick up", None),
        ("drop off", None),
        ("toggle", None),
        ("stick", None),
    ],
)
def test_names_of_actions_tell_keys(label, keys):
    (chord,) = chords_of_labels([label])
    assert chord == (None if keys is None else frozenset(keys))


def test_numbers_are_directions_where_some_are_negative():
    assert chords_of_labels(["torque -1", "torque 0", "torque +1"]) == [{"left"}, set(), {"right"}]
    assert chords_of_labels(["arm 0", "arm 1"]) == [None, None]


def test_where_some_turn_the_others_step_aside():
    labels = ["turn left", "turn left and attack", "move left", "move right", "move forward"]
    chords = chords_of_labels(labels)
    assert chords == [{"left"}, {"left", "space"}, {"a"}, {"d"}, {"up"}]


@pytest.mark.parametrize(
    ("label", "direction"),
    [
        ("steer", "sideways"),
        ("side engines", "sideways"),
        ("main engine", "upwards"),
        ("gas", "upwards"),
        ("brake", "downwards"),
        ("left knee", None),
    ],
)
def test_names_of_entries_tell_a_direction(label, direction):
    assert direction_of_label(label) == direction


def test_an_environments_own_keys_are_read():
    # MountainCar: numbers of the arrow keys in pygame 1.
    mountain_car = {(): 1, (276,): 0, (275,): 2, (275, 276): 1}
    assert chords_of_env(mountain_car) == {0: {"left"}, 1: frozenset(), 2: {"right"}}
    # Atari: characters, of which w, a, s and d are arrows.
    atari = {("e",): 0, ("w", " "): np.int64(2), ("d",): 3}
    assert chords_of_env(atari) == {0: {"e"}, 2: {"up", "space"}, 3: {"right"}}
    assert chords_of_env({"ws": 4, 1073741904: 5, (ord("k"),): 6}) == {
        4: {"up", "down"},
        5: {"left"},
        6: {"k"},
    }


@pytest.mark.parametrize(
    "mapping",
    [{("p",): 0}, {(999_999,): 0}, {("a",): np.array([0.5])}],
    ids=["a key of the game", "an unknown key", "no number"],
)
def test_keys_that_are_not_understood_are_left_alone(mapping):
    assert chords_of_env(mapping) is None
