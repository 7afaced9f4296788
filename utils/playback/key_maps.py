"""From the keys that a person holds to an action, for every kind of action space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from utils.playback.key_words import (
    ARROW_OF_LETTER,
    CONTROL_KEYS,
    Chord,
    chords_of_env,
    chords_of_labels,
    direction_of_label,
)

# Rows of a keyboard, without the keys that steer the game.
_ROWS = ("1234567890", "ertyuio", "fghjkl", "zcvbm")
_PAIRS = (
    ("left", "right"),
    ("down", "up"),
    ("a", "d"),
    ("s", "w"),
    ("j", "l"),
    ("k", "i"),
    ("f", "h"),
    ("g", "t"),
)


class KeyMap(Protocol):
    """Chooses actions by keys; actions are those of the policy, counting from 0.

    Attributes:
        labels: What each choice, entry or bit is called.
        keys: Which keys take each, as text.
        acts_alone: There is an action for no key at all, so that time may go on by itself.
    """

    labels: tuple[str, ...]
    keys: tuple[str, ...]
    acts_alone: bool

    def action(self, held: Sequence[str]) -> np.ndarray | None:
        """Return the action for the keys that are held, oldest first; None for no action."""
        ...


class ChoiceKeys:
    """Discrete: a key or several together for each choice; the most keys, then the newest, win."""

    def __init__(self, chords: Sequence[Chord | None], labels: Sequence[str]) -> None:
        """Take the chord of each choice; those without one get digits, then letters, in order."""
        self.labels = tuple(labels)
        taken = {key for chord in chords if chord for key in chord} | CONTROL_KEYS
        free = _free_keys(taken)
        self._chords: list[Chord | None] = []
        for chord in chords:
            key = next(free, None) if chord is None else None
            self._chords.append(frozenset({key}) if key is not None else chord)
        self.keys = tuple(map(_describe_chord, self._chords))
        self.acts_alone = frozenset() in self._chords
        used = {key for chord in self._chords if chord for key in chord}
        self._arrow_of = {k: v for k, v in ARROW_OF_LETTER.items() if k not in used}

    def action(self, held: Sequence[str]) -> np.ndarray | None:
        """Return the choice for the keys that are held."""
        order = {self._arrow_of.get(key, key): k for k, key in enumerate(held)}
        fitting = [
            (len(chord), max((order[key] for key in chord), default=-1), index)
            for index, chord in enumerate(self._chords)
            if chord is not None and chord <= order.keys()
        ]
        return np.array(max(fitting)[2]) if fitting else None


class GroupKeys:
    """MultiDiscrete: a row of the keyboard for each part; no key of a row is the value 0."""

    acts_alone = True

    def __init__(self, sizes: Sequence[int], labels: Sequence[str]) -> None:
        """Take the number of values of each part; a part beyond the last row stays at 0."""
        rows = [_ROWS[k] if k < len(_ROWS) else "" for k in range(len(sizes))]
        self._keys = [row[: size - 1] for row, size in zip(rows, sizes, strict=True)]
        self.labels = tuple(labels)
        self.keys = tuple(
            "-" if value == 0 else row[value - 1] if value <= len(row) else ""
            for row, size in zip(self._keys, sizes, strict=True)
            for value in range(size)
        )

    def action(self, held: Sequence[str]) -> np.ndarray:
        """Return the value of each part for the keys that are held."""
        values = [max((row.find(key) + 1 for key in held), default=0) for row in self._keys]
        return np.array(values)


class BitKeys:
    """MultiBinary: a key for each bit, which is 1 while it is held."""

    acts_alone = True

    def __init__(self, chords: Sequence[Chord | None], labels: Sequence[str]) -> None:
        """Take the key of each bit; those without one of their own get digits, then letters."""
        own = [next(iter(chord)) if chord and len(chord) == 1 else None for chord in chords]
        own = [key if own.index(key) == k else None for k, key in enumerate(own)]
        free = _free_keys({key for key in own if key is not None} | CONTROL_KEYS)
        self._keys = [key or next(free, "") for key in own]
        self.labels, self.keys = tuple(labels), tuple(self._keys)

    def action(self, held: Sequence[str]) -> np.ndarray:
        """Return each bit for the keys that are held."""
        names = {ARROW_OF_LETTER.get(key, key) for key in held} | set(held)
        return np.array([int(key in names) for key in self._keys])


class DialKeys:
    """Box: a pair of keys for each entry leads to its bounds; without a key it rests at 0."""

    acts_alone = True

    def __init__(self, space: gym.spaces.Box, labels: Sequence[str]) -> None:
        """Give the entries their keys: by their names first, then in order."""
        low, high = np.ravel(space.low), np.ravel(space.high)
        self._shape = space.shape
        self._low = np.where(np.isfinite(low), low, -1.0)
        self._high = np.where(np.isfinite(high), high, 1.0)
        self._rest = np.clip(0.0, self._low, self._high)
        self.labels = tuple(labels)
        self._pairs = self._choose_pairs()
        self.keys = tuple("/".join(key for key in pair if key) for pair in self._pairs)
        used = {key for pair in self._pairs for key in pair}
        self._arrow_of = {k: v for k, v in ARROW_OF_LETTER.items() if k not in used}

    def action(self, held: Sequence[str]) -> np.ndarray:
        """Return each entry for the keys that are held; of a pair, the newer one counts."""
        order = {self._arrow_of.get(key, key): k for k, key in enumerate(held)}
        values = self._rest.copy()
        for k, (minus, plus) in enumerate(self._pairs):
            down, up = order.get(minus, -1), order.get(plus, -1)
            if down != up:
                values[k] = self._low[k] if down > up else self._high[k]
        return values.astype(np.float32).reshape(self._shape)

    def _choose_pairs(self) -> list[tuple[str, str]]:
        """Return the keys down and up of each entry; empty texts where there are none left."""
        has_two_sides = self._low < 0
        directions = [direction_of_label(label) for label in self.labels]
        pairs: list[tuple[str, str] | None] = [None] * len(self.labels)
        used: set[str] = set()
        for k, direction in enumerate(directions):
            pair = _pair_for(direction, has_two_sides=bool(has_two_sides[k]))
            if pair is not None and not used.intersection(pair):
                pairs[k] = pair
                used.update(key for key in pair if key)
        for k, pair in enumerate(pairs):
            if pair is None:
                free = _free_pairs(used, has_two_sides=bool(has_two_sides[k]))
                pairs[k] = next(free, ("", ""))
                used.update(key for key in pairs[k] or () if key)
        return [pair or ("", "") for pair in pairs]


def build_key_map(
    space: gym.Space, labels: Sequence[str], env_keys: Mapping[Any, Any] | None = None
) -> KeyMap:
    """Choose the keys for an action space.

    Args:
        space: Of one environment.
        labels: One for each choice, entry or bit; see `action_labels`.
        env_keys: The environment's own `get_keys_to_action()`, where it has one for this space.
    """
    match space:
        case gym.spaces.Discrete():
            own = None if env_keys is None else chords_of_env(env_keys)
            return ChoiceKeys(_choice_chords(labels, own, int(space.start)), labels)
        case gym.spaces.MultiDiscrete():
            return GroupKeys([int(n) for n in space.nvec], labels)
        case gym.spaces.MultiBinary():
            return BitKeys(chords_of_labels(labels), labels)
    assert isinstance(space, gym.spaces.Box), space
    return DialKeys(space, labels)


def _choice_chords(
    labels: Sequence[str], own: Mapping[int, Chord] | None, start: int
) -> list[Chord | None]:
    """Return a chord of its own for each choice, or None."""
    named = chords_of_labels(labels)
    if own is None:
        chords = named
    else:
        # An environment's own keys need not know that its action for nothing takes no key.
        chords = [
            frozenset() if named[index] == frozenset() else own.get(index + start)
            for index in range(len(labels))
        ]
    return [
        None if chord is None or chord in chords[:index] else chord
        for index, chord in enumerate(chords)
    ]


def _pair_for(direction: str | None, *, has_two_sides: bool) -> tuple[str, str] | None:
    match direction:
        case "sideways":
            return ("left", "right") if has_two_sides else None
        case "upwards":
            return ("down" if has_two_sides else "", "up")
        case "downwards":
            return ("", "down") if not has_two_sides else ("down", "up")
    return None


def _free_pairs(used: set[str], *, has_two_sides: bool) -> Iterator[tuple[str, str]]:
    if has_two_sides:
        return (pair for pair in _PAIRS if not used.intersection(pair))
    return (("", key) for key in _free_keys(used | CONTROL_KEYS))


def _free_keys(taken: Iterable[str]) -> Iterator[str]:
    blocked = {*taken, *ARROW_OF_LETTER}
    return iter([key for key in "".join(_ROWS) if key not in blocked])


def _describe_chord(chord: Chord | None) -> str:
    if chord is None:
        return ""
    order = ("up", "down", "left", "right")
    keys = sorted(chord, key=lambda key: (order.index(key) if key in order else 9, key))
    return "+".join(keys) or "no key"
