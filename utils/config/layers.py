"""Settings laid over each other, with the place that each came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from utils.config.yaml_reader import KeyPath


@dataclass(frozen=True, slots=True)
class Place:
    """Where a setting was written."""

    label: str
    """How messages name it: `file:line`, or the option of the command line."""
    layer: int
    """Number of the layer; a higher one wins."""
    section: str = ""
    """The block of a file, as messages name it: "variant 'ppo'"; none outside files."""


PlaceOf = Callable[[KeyPath], Place]


@dataclass(slots=True)
class Layers:
    """The merged settings so far; later layers are laid over earlier ones."""

    data: dict[str, Any] = field(default_factory=dict)
    places: dict[KeyPath, Place] = field(default_factory=dict)

    def merge(self, data: Mapping[str, Any], place_of: PlaceOf) -> None:
        """Lay a mapping over the settings: mappings merge key by key, all else is replaced.

        Args:
            data: The settings of the new layer.
            place_of: Gives the place of each key in `data`.
        """
        for key, value in data.items():
            self._lay(self.data, key, value, place_of, (key,))

    def set(self, path: KeyPath, value: Any, place: Place) -> None:
        """Lay one value over the settings, making the mappings that lead to it.

        Args:
            path: The keys that lead to it; an entry of a list by its number.
            value: The value; a mapping is merged into a mapping.
            place: Where it was written.

        Raises:
            LookupError: The path leads to an entry that a list does not have.
        """
        target: Any = self.data
        for depth, key in enumerate(path[:-1], start=1):
            held = _get(target, key)
            if not isinstance(held, dict | list):
                self._lay(target, key, {}, lambda _: place, path[:depth])
            target = _get(target, key)
        self._lay(target, path[-1], value, lambda _: place, path)

    def _lay(self, target: Any, key: str, value: Any, place_of: PlaceOf, here: KeyPath) -> None:
        held = _get(target, key)
        if isinstance(value, Mapping) and isinstance(held, dict):
            for inner_key, inner in value.items():
                self._lay(held, inner_key, inner, place_of, (*here, inner_key))
            return
        target[int(key) if isinstance(target, list) else key] = deepcopy(value)
        for known in [known for known in self.places if known[: len(here)] == here]:
            del self.places[known]
        self._note(value, place_of, here)

    def _note(self, value: Any, place_of: PlaceOf, here: KeyPath) -> None:
        self.places[here] = place_of(here)
        if isinstance(value, Mapping):
            for key, inner in value.items():
                self._note(inner, place_of, (*here, key))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                self._note(inner, place_of, (*here, str(index)))

    def find_place(self, path: KeyPath) -> Place | None:
        """Return where a key was set, or else the nearest key above it; None if nobody set it."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path[:-1]
        return None

    def layer_of(self, key: str) -> int | None:
        """Return the layer that set a dotted key itself; None if nobody did."""
        place = self.places.get(tuple(key.split(".")))
        return place.layer if place else None


def _get(target: Any, key: str) -> Any:
    if not isinstance(target, list):
        return target.get(key)
    if not key.isdigit() or int(key) >= len(target):
        raise LookupError(f"the list has {len(target)} entries and no entry '{key}'")
    return target[int(key)]
