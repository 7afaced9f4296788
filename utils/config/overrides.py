"""Settings from the command line and from sweeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from utils.config.layers import Layers, Place
from utils.config.yaml_reader import KeyPath, parse_value
from utils.errors import ConfigError

_KEY = re.compile(r"[^\s.=]+(?:\.[^\s.=]+)*")


@dataclass(frozen=True, slots=True)
class Override:
    """One setting that is laid over those of the file."""

    path: KeyPath
    value: Any
    label: str
    """How messages name it, such as `--set n_envs=4`."""


def parse_override(text: str) -> Override:
    """Read `key.path=value`, where the value is written as in YAML.

    Raises:
        ConfigError: There is no key or no "=", or the value is not YAML.
    """
    label = f"--set {text}"
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key):
        raise ConfigError(f"{label}: expected KEY=VALUE, such as n_envs=4 or policy_kwargs.x=1")
    return Override(tuple(key.split(".")), parse_value(value, label=label), label)


def sweep_overrides(sweep: Mapping[str, Any]) -> tuple[list[Override], list[str]]:
    """Read the settings of a sweep's trial.

    Args:
        sweep: Nested or dotted keys, or both. Text is read as YAML, because sweep services read
            `1e-3` as text.

    Returns:
        The settings, and one line per text value that is not YAML.
    """
    overrides: list[Override] = []
    problems: list[str] = []
    for path, value in _flatten(sweep, ()):
        label = f"sweep {'.'.join(path)}={value}"
        try:
            parsed = parse_value(value, label=label) if isinstance(value, str) else value
        except ConfigError as error:
            problems.append(str(error))
            continue
        overrides.append(Override(path, parsed, label))
    return overrides, problems


def _flatten(block: Mapping[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    for key, value in block.items():
        here = (*path, *str(key).split("."))
        if isinstance(value, Mapping):
            yield from _flatten(value, here)
        else:
            yield here, value


def apply_overrides(layers: Layers, overrides: Iterable[Override], *, layer: int) -> list[str]:
    """Lay overrides over the settings, in order; of two for one key the later wins.

    Args:
        layers: The settings so far; changed in place.
        overrides: The overrides.
        layer: Number of the layer that they form.

    Returns:
        One line per override that could not be applied.
    """
    problems = []
    for override in overrides:
        try:
            layers.set(override.path, override.value, Place(override.label, layer))
        except LookupError as error:
            problems.append(f"{override.label}: {error}")
    return problems
