"""What the names of actions say about the keys that a person expects for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Chord = frozenset[str]
"""Names of keys that are held together; empty for an action that takes no key."""

CONTROL_KEYS = frozenset({"p", "n", "+", "-", "tab", "enter", "escape", "backspace", "q"})
"""Keys that steer the game rather than the environment, whatever the actions are."""

ARROW_OF_LETTER = {"w": "up", "a": "left", "s": "down", "d": "right"}

_KEYS_OF_WORD = {
    **dict.fromkeys(("left", "west"), ("left",)),
    **dict.fromkeys(("right", "east"), ("right",)),
    **dict.fromkeys(("up", "north", "forward", "forwards", "main", "thrust"), ("up",)),
    **dict.fromkeys(("down", "south", "back", "backward", "backwards"), ("down",)),
    **dict.fromkeys(("fire", "attack", "shoot", "jump"), ("space",)),
    **dict.fromkeys(("run", "speed", "sprint"), ("x",)),
}
_IDLE_WORDS = {"noop", "nothing", "none", "coast", "idle", "stay", "wait", "no", "op"}
# Particles that look like directions: pick up, drop off.
_NO_DIRECTIONS = {"pick", "drop", "put", "set"}
_JOINED = re.compile(r"(?:noop|up|down|left|right|fire)+")
_TOKEN = re.compile(r"[a-z]+|[+-]?\d+(?:\.\d+)?")
_SIDEWAYS_WORDS = {"side", "steer", "steering", "turn", "torque", "force", "yaw", "horizontal"}
_UPWARDS_WORDS = {"main", "gas", "throttle", "lift", "thrust", "pitch", "vertical", "accelerate"}
_DOWNWARDS_WORDS = {"brake"}

# The numbers of the arrow keys in pygame 1, which some environments still name, and in pygame 2.
_ARROW_CODES = {
    **dict(zip((273, 274, 275, 276), ("up", "down", "right", "left"), strict=True)),
    **dict(zip(range(1073741903, 1073741907), ("right", "left", "down", "up"), strict=True)),
}


def chords_of_labels(labels: Sequence[str]) -> list[Chord | None]:
    """Return the keys for actions of these names; None where a name says nothing of keys.

    "push left" is the left arrow, "RIGHTFIRE" the right arrow with space, "torque 0" no key. Where
    some actions turn left and others move left, the letters a and d move and the arrows turn.
    """
    tokens = [_TOKEN.findall(label.lower()) for label in labels]
    is_turning = ["turn" in words for words in tokens]
    # "arm 0, arm 1" counts; only where there is a minus do numbers say a direction.
    has_signs = any(word.startswith("-") for words in tokens for word in words)
    chords = [_chord_of_words(words, has_signs=has_signs) for words in tokens]
    return [
        _sidestep(chord) if chord is not None and any(is_turning) and not turns else chord
        for chord, turns in zip(chords, is_turning, strict=True)
    ]


def _sidestep(chord: Chord) -> Chord:
    return frozenset({"left": "a", "right": "d"}.get(key, key) for key in chord)


def _chord_of_words(tokens: Sequence[str], *, has_signs: bool) -> Chord | None:
    if _NO_DIRECTIONS.intersection(tokens):
        return None
    words = [part for token in tokens for part in _split_joined(token)]
    keys: set[str] = set()
    is_idle = False
    for word in words:
        if word in _KEYS_OF_WORD:
            keys.update(_KEYS_OF_WORD[word])
        elif has_signs and word[0] in "+-0123456789":
            value = float(word)
            keys.update(() if value == 0 else ("left",) if value < 0 else ("right",))
            is_idle = is_idle or value == 0
        elif word in _IDLE_WORDS:
            is_idle = True
    if keys:
        return frozenset(keys)
    return frozenset() if is_idle else None


def direction_of_label(label: str) -> str | None:
    """Return "sideways", "upwards" or "downwards" for an entry of a Box of this name, or None."""
    tokens = set(_TOKEN.findall(label.lower()))
    for direction, words in (
        ("downwards", _DOWNWARDS_WORDS),
        ("upwards", _UPWARDS_WORDS),
        ("sideways", _SIDEWAYS_WORDS),
    ):
        if tokens & words:
            return direction
    return None


def chords_of_env(mapping: Mapping[Any, Any]) -> dict[int, Chord] | None:
    """Read an environment's own `get_keys_to_action()`.

    Args:
        mapping: From keys (a string of characters, or a tuple of characters and key codes) to the
            numbers of actions.

    Returns:
        The keys of each action; None where they are not understood, or are needed for the game.
    """
    chords: dict[int, Chord] = {}
    for keys, action in mapping.items():
        if not isinstance(action, int) and getattr(action, "ndim", None) != 0:
            return None
        names = [_name_of(key) for key in (keys if isinstance(keys, str | tuple) else (keys,))]
        if None in names or CONTROL_KEYS.intersection(names):
            return None
        chords.setdefault(int(action), frozenset(name for name in names if name is not None))
    return chords


def _name_of(key: Any) -> str | None:
    if isinstance(key, str):
        name = "space" if key == " " else key.lower()
    elif isinstance(key, int) and key in _ARROW_CODES:
        name = _ARROW_CODES[key]
    elif isinstance(key, int) and 32 <= key < 127:
        name = "space" if key == 32 else chr(key).lower()
    else:
        return None
    return ARROW_OF_LETTER.get(name, name)


def _split_joined(token: str) -> list[str]:
    if _JOINED.fullmatch(token):
        return re.findall("noop|up|down|left|right|fire", token)
    return [token]
