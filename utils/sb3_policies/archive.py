"""The `.zip` of a model: its facts as text, and its weights as tensors.

Stable-Baselines3 stores classes, spaces and schedules as pickles, and a pickle is a program: who
loads one runs what its author wrote. Beside each pickle lies a readable form of what it holds. Here
only that form and the tensors are read, so that a file from a stranger can do no harm.
"""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from utils.errors import UserError

_PICKLED = ":serialized:"
_TYPE = ":type:"
_LARGEST_DATA = 64 * 2**20


class UnreadableModelError(UserError):
    """A file that is no model of Stable-Baselines3, or one that cannot be read safely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """What a model's file says of itself."""

    path: Path
    facts: Mapping[str, Any]
    """Attributes of the algorithm; what is pickled is a dictionary of texts without its pickle."""
    weights: Mapping[str, Tensor]
    """State of the policy, by name, on the CPU."""
    version: str
    """Of Stable-Baselines3 that wrote it."""

    @property
    def policy_module(self) -> str:
        """Where the policy's class is defined."""
        return str(self._of_class("__module__"))

    @property
    def policy_class(self) -> str:
        """Name of the policy's class, or of the one that its constructor is inherited from."""
        methods = dict(self.facts.get("policy_class") or {})
        found = re.search(r"<function (\w+)\.", str(methods.get("__init__")))
        return found[1] if found else "class"

    @property
    def timesteps(self) -> int:
        """How long it was trained."""
        return int(self.facts.get("num_timesteps") or 0)

    @property
    def policy_kwargs(self) -> dict[str, Any]:
        """Arguments of the policy; those that are no numbers or texts as their readable form."""
        kwargs = self.facts.get("policy_kwargs") or {}
        return {key: _plain(value) for key, value in kwargs.items() if key != _TYPE}

    def number(self, name: str, *, default: float) -> float:
        """Return a setting of the algorithm; the default where it has none of that name."""
        value = self.facts.get(name)
        return float(value) if isinstance(value, int | float) else default

    def check_space(self, name: str, space: gym.Space) -> None:
        """Make sure that a space of an environment is the one of the training.

        Args:
            name: `observation_space` or `action_space`.
            space: Of the environment.

        Raises:
            UserError: It is another one; the message shows both.
        """
        facts = self.facts.get(name)
        if not isinstance(facts, Mapping):
            raise UnreadableModelError(f"'{self.path}' says nothing of its {name}")
        differences = _differences(facts, space)
        if differences:
            raise UserError(
                f"'{self.path}' was trained with another {name.replace('_', ' ')} than this "
                f"environment has: {'; '.join(differences)}"
            )

    def _of_class(self, key: str) -> Any:
        facts = self.facts.get("policy_class")
        if not isinstance(facts, Mapping) or key not in facts:
            raise UnreadableModelError(
                f"'{self.path}' does not say of what class its policy is: it is no model that "
                "Stable-Baselines3 (1.0 or newer) saved"
            )
        return facts[key]


def read_archive(path: Path) -> Archive:
    """Read a model's file.

    Raises:
        UserError: There is no such file, or it is no model of Stable-Baselines3.
    """
    if not path.is_file():
        raise UserError(f"there is no file '{path}'")
    try:
        with zipfile.ZipFile(path) as file:
            names = set(file.namelist())
            if not {"data", "policy.pth"} <= names:
                raise UnreadableModelError(
                    f"'{path}' is no model of Stable-Baselines3: it holds no 'data' and "
                    "'policy.pth'"
                )
            if file.getinfo("data").file_size > _LARGEST_DATA:
                raise UnreadableModelError(f"'{path}': its 'data' is too large to be settings")
            facts = json.loads(file.read("data"))
            weights = _read_weights(path, file.read("policy.pth"))
            version = "_stable_baselines3_version"
            written = file.read(version).decode().strip() if version in names else "unknown"
    except (zipfile.BadZipFile, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UnreadableModelError(f"'{path}' is no model of Stable-Baselines3: {error}") from error
    return Archive(path=path, facts=_without_pickles(facts), weights=weights, version=written)


def _read_weights(path: Path, content: bytes) -> dict[str, Tensor]:
    from pickle import UnpicklingError

    try:
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError) as error:
        first = str(error).splitlines()[0]
        raise UnreadableModelError(
            f"'{path}': its policy.pth is not a file of tensors alone, and anything else in it "
            f"would have to be run: refused ({first})"
        ) from error
    if not all(isinstance(part, Tensor) for part in state.values()):
        raise UnreadableModelError(f"'{path}': its policy.pth holds other things than tensors")
    return dict(state)


def _without_pickles(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {name: part for name, part in value.items() if name != _PICKLED}
        if isinstance(value, dict)
        else value
        for key, value in facts.items()
    }


def _plain(value: Any) -> Any:
    """Return what a text spells, where that is a number, a flag or a container of such."""
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def _differences(facts: Mapping[str, Any], space: gym.Space) -> list[str]:
    kind = str(facts.get(_TYPE, "")).strip("<>'").rpartition(".")[2]
    if kind != type(space).__name__:
        return [f"{kind} there and {type(space).__name__} here"]
    found = []
    match space:
        case gym.spaces.Box():
            found.append(("shape", _numbers(facts.get("_shape")), tuple(space.shape)))
            found.append(("type", facts.get("dtype"), str(space.dtype)))
        case gym.spaces.Discrete():
            found.append(("n", _numbers(facts.get("n")), (int(space.n),)))
        case gym.spaces.MultiDiscrete():
            found.append(("nvec", _numbers(facts.get("nvec")), tuple(map(int, space.nvec))))
        case gym.spaces.MultiBinary():
            found.append(("shape", _numbers(facts.get("_shape")), tuple(space.shape)))
        case gym.spaces.Dict():
            there = set(re.findall(r"'([^']+)':", str(facts.get("spaces"))))
            found.append(("keys", tuple(sorted(there)), tuple(sorted(space.spaces))))
    return [f"{name} {there} there and {here} here" for name, there, here in found if there != here]


def check_bounds(archive: Archive, space: gym.spaces.Box) -> None:
    """Make sure that actions have the bounds of the training, which scale or clip them.

    Raises:
        UserError: They are others.
    """
    facts = archive.facts["action_space"]
    for name in ("low", "high"):
        there, here = _numbers(facts.get(name)), _numbers(str(getattr(space, name)))
        if there != here:
            raise UserError(
                f"'{archive.path}' was trained with other bounds of actions than this environment "
                f"has: {name} {facts.get(name)} there and {getattr(space, name)} here"
            )


def _numbers(text: Any) -> tuple[float | int, ...]:
    """Return the numbers of a text such as `[4 84 84]`."""
    found = re.findall(r"-?(?:inf|\d+\.?\d*(?:e[+-]?\d+)?)", str(text))
    return tuple(float(x) if not x.lstrip("-").isdecimal() else int(x) for x in found)
