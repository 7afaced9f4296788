"""Search spaces: settings of an algorithm that are worth trying, as far as a config takes them."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

from utils.config.yaml_reader import YamlDocument, read_yaml
from utils.errors import ConfigError
from utils.sweeps import SweepSpec
from utils.sweeps.parameters import Choice, Parameter
from utils.sweeps.validate import check_parameters, value_problems

SPACES_DIR = Path(__file__).resolve().parents[2] / "config" / "tuning"
_KEYS = ("parameters",)


def known_spaces(folder: Path = SPACES_DIR) -> list[str]:
    """Return the algorithms that have a search space, by name."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def find_space(algo_id: str, *, folder: Path = SPACES_DIR) -> Path:
    """Return the file of an algorithm's search space.

    Raises:
        ConfigError: It has none; the message names those that have one.
    """
    path = folder / f"{algo_id}.yaml"
    if not path.exists():
        raise ConfigError(
            f"there is no search space for {algo_id} (there are: "
            f"{', '.join(known_spaces(folder))}); write one and give it by --space FILE"
        )
    return path


def read_space(path: Path) -> YamlDocument:
    """Read the file of a search space: `parameters`, each as a sweep file writes it.

    Raises:
        ConfigError: It is no such file; one line per problem, with its place.
    """
    document = read_yaml(path)
    problems = [
        f"{document.place((key,))}: unknown key '{key}': a search space has 'parameters' alone; "
        "the rest is given to tune.py"
        for key in document.data
        if key not in _KEYS
    ]
    if not isinstance(document.data.get("parameters"), dict):
        problems.append(f"{document.place(())}: 'parameters' must be a mapping of what to try")
    if problems:
        raise ConfigError("\n".join(problems))
    return document


def fit_to_config(spec: SweepSpec) -> tuple[SweepSpec, list[str]]:
    """Leave out of a space that many configs share what this config does not take.

    A value goes when it fits with no values of the other parameters, a parameter when none of its
    values is left, or when an end of its range does not fit.

    Returns:
        The sweep that is left, and one line for each thing that was left out.

    Raises:
        ConfigError: Nothing is left, or what is left does not fit together.
    """
    notes: list[str] = []
    draws = random.Random(0)
    for name, parameter in spec.parameters.items():
        faults = _faults(spec, name, parameter, draws)
        if not faults:
            continue
        kept = _without(parameter, list(faults))
        why = next(iter(faults.values()))
        what = f"{name}" if kept is None else f"{name}: {', '.join(map(str, faults))}"
        notes.append(f"left out {what} ({why})")
        changed = {key: kept if key == name else old for key, old in spec.parameters.items()}
        left = {key: value for key, value in changed.items() if value is not None}
        spec = dataclasses.replace(spec, parameters=left)
    if not spec.parameters:
        raise ConfigError(f"{spec.path}: {spec.config_id} takes nothing of it")
    check_parameters(spec)
    return spec, notes


def _faults(
    spec: SweepSpec, name: str, parameter: Parameter, draws: random.Random
) -> dict[str, str]:
    """Return what is wrong with values of a parameter by itself, by the value as text."""
    faults = {}
    for value in parameter.probe():
        lines = value_problems(spec, name, value, draws)
        own = [line for line in lines if name in line]
        if own:
            faults[str(value)] = own[0].partition(": ")[2]
    return faults


def _without(parameter: Parameter, bad: list[str]) -> Any:
    """Return a parameter without some values; None where nothing sensible is left."""
    if not isinstance(parameter, Choice):
        return None
    values = tuple(value for value in parameter.values if str(value) not in bad)
    return Choice(values) if values else None
