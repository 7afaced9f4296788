"""One fault of a config: the settings that it concerns, and what is wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in what a person wrote."""

    keys: tuple[str, ...]
    """The settings concerned, dotted; the message names the place of the last that was set."""
    message: str
    """What is wrong and how to mend it, without the place."""


def nearest(word: str, choices: Iterable[str], *, count: int = 1) -> list[str]:
    """Return the choices that look most like a word, best first; case does not matter."""
    by_folded = {choice.lower(): choice for choice in choices}
    found = difflib.get_close_matches(word.lower(), by_folded, count, 0.6)
    return [by_folded[folded] for folded in found]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return ": did you mean 'x'?" for the nearest choice, or nothing."""
    found = nearest(word, choices)
    return f": did you mean '{found[0]}'?" if found else ""
