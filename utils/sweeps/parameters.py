"""What a parameter of a sweep may be, as W&B writes it, and how a value of it is chosen.

A value is drawn through one coordinate that Optuna knows: a choice, a range, or, where it has no
such distribution, a number in [0, 1] that the inverse distribution function turns into the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

from utils.config.problems import did_you_mean

_TAIL = 1e-6
"""Distance of a coordinate from 0 and 1, where a normal distribution is infinite."""


class Chooser(Protocol):
    """What of an Optuna trial a parameter uses."""

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Choose one of some values."""
        ...

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """Choose a whole number."""
        ...

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Choose a number."""
        ...


class Parameter(Protocol):
    """One parameter of a sweep."""

    def suggest(self, name: str, chooser: Chooser) -> Any:
        """Choose a value."""
        ...

    def grid(self) -> list[Any] | None:
        """Return every value; None where there are infinitely many."""
        ...

    def encode(self, value: Any) -> dict[str, Any]:
        """Return under "" the coordinate of a value of the grid; empty where it has none."""
        ...

    def probe(self) -> list[Any]:
        """Return a few values, the extreme ones among them."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value in each trial."""

    value: Any

    def suggest(self, name: str, chooser: Chooser) -> Any:
        """Return the value; nothing is chosen."""
        del name, chooser
        return self.value

    def grid(self) -> list[Any]:
        """Return the value."""
        return [self.value]

    def encode(self, value: Any) -> dict[str, Any]:
        """Return nothing: a constant is no coordinate."""
        del value
        return {}

    def probe(self) -> list[Any]:
        """Return the value."""
        return [self.value]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values; lists and mappings may be among them."""

    values: tuple[Any, ...]

    def suggest(self, name: str, chooser: Chooser) -> Any:
        """Choose a value."""
        labels = [_label(value) for value in self.values]
        return self.values[labels.index(chooser.suggest_categorical(name, labels))]

    def grid(self) -> list[Any]:
        """Return the values."""
        return list(self.values)

    def encode(self, value: Any) -> dict[str, Any]:
        """Return the label of a value."""
        return {"": _label(value)}

    def probe(self) -> list[Any]:
        """Return the values."""
        return list(self.values)


@dataclass(frozen=True, slots=True)
class IntRange:
    """A whole number, both ends included."""

    low: int
    high: int

    def suggest(self, name: str, chooser: Chooser) -> int:
        """Choose a value."""
        return chooser.suggest_int(name, self.low, self.high)

    def grid(self) -> list[int]:
        """Return every number."""
        return list(range(self.low, self.high + 1))

    def encode(self, value: int) -> dict[str, Any]:
        """Return the number itself."""
        return {"": value}

    def probe(self) -> list[int]:
        """Return both ends."""
        return [self.low, self.high]


@dataclass(frozen=True, slots=True)
class FloatRange:
    """A number, evenly or by its logarithm."""

    low: float
    high: float
    is_log: bool = False

    def suggest(self, name: str, chooser: Chooser) -> float:
        """Choose a value."""
        return chooser.suggest_float(name, self.low, self.high, log=self.is_log)

    def grid(self) -> None:
        """Return None: there is always a number in between."""

    def encode(self, value: float) -> dict[str, Any]:
        """Return the number itself."""
        return {"": value}

    def probe(self) -> list[float]:
        """Return both ends."""
        return [self.low, self.high]


@dataclass(frozen=True, slots=True)
class Quantile:
    """A value by its inverse distribution function."""

    value_at: Callable[[float], Any]
    """Value of a coordinate in (0, 1)."""
    steps: tuple[Any, ...] | None = None
    """Every value, where they are few."""

    def suggest(self, name: str, chooser: Chooser) -> Any:
        """Choose a value."""
        return self.value_at(chooser.suggest_float(name, _TAIL, 1.0 - _TAIL))

    def grid(self) -> list[Any] | None:
        """Return the values, where they are few."""
        return None if self.steps is None else list(self.steps)

    def encode(self, value: Any) -> dict[str, Any]:
        """Return the middle of the coordinates that lead to a value of the grid."""
        assert self.steps is not None
        n = len(self.steps)
        middles = ((i + 0.5) / (20 * n) for i in range(20 * n))
        hits = [u for u in middles if self.value_at(u) == value]
        return {"": hits[len(hits) // 2]}

    def probe(self) -> list[Any]:
        """Return a low, a middle and a high value."""
        return [self.value_at(u) for u in (_TAIL, 0.5, 1.0 - _TAIL)]


def read_parameter(entry: Any) -> Parameter:
    """Read one parameter as W&B writes it.

    Args:
        entry: `{value: x}`, `{values: [...]}`, `{min: a, max: b}`, with or without a
            `distribution`; nested parameters are not read here.

    Raises:
        ValueError: It is none of that; the message says what to write.
    """
    if not isinstance(entry, Mapping):
        raise ValueError("must be a mapping such as {values: [1, 2]} or {min: 0.1, max: 1.0}")
    kind = entry.get("distribution") or _guess(entry)
    if kind == "categorical" and "probabilities" in entry:
        kind = "categorical_w_probabilities"
    if kind not in _READERS:
        hint = did_you_mean(str(kind), _READERS)
        raise ValueError(f"unknown distribution '{kind}'{hint} (known: {', '.join(_READERS)})")
    keys, reader = _READERS[kind]
    required = [key for key in keys if not key.endswith("?")]
    allowed = {key.removesuffix("?") for key in keys} | {"distribution"}
    if missing := [key for key in required if key not in entry]:
        raise ValueError(f"{kind} needs {' and '.join(repr(key) for key in missing)}")
    if extra := [key for key in entry if key not in allowed]:
        raise ValueError(f"{kind} does not take '{extra[0]}'")
    return reader(entry)


def _guess(entry: Mapping[str, Any]) -> str:
    if "value" in entry:
        return "constant"
    if "probabilities" in entry:
        return "categorical_w_probabilities"
    if "values" in entry:
        return "categorical"
    if "mu" in entry or "sigma" in entry:
        return "normal"
    if "min" in entry and "max" in entry:
        are_whole = all(type(entry[key]) is int for key in ("min", "max"))
        return "int_uniform" if are_whole else "uniform"
    raise ValueError("must have 'value', 'values', or 'min' and 'max'")


def _label(value: Any) -> Any:
    """Return a value that Optuna stores: itself, or its JSON form for lists and mappings."""
    return json.dumps(value) if isinstance(value, list | tuple | Mapping) else value


def _number(entry: Mapping[str, Any], key: str, *, default: float | None = None) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"'{key}' must be a number, got {value!r}")
    return float(value)


def _bounds(entry: Mapping[str, Any], *, least: float | None = None) -> tuple[float, float]:
    low, high = _number(entry, "min"), _number(entry, "max")
    if low >= high:
        raise ValueError(f"'min' must be less than 'max', got {low:g} and {high:g}")
    if least is not None and low <= least:
        raise ValueError(f"'min' must be > {least:g}, got {low:g}")
    return low, high


def _choice(entry: Mapping[str, Any]) -> Choice:
    values = entry["values"]
    if not isinstance(values, list) or not values:
        raise ValueError("'values' must be a list with at least one entry")
    return Choice(tuple(values))


def _weighted_choice(entry: Mapping[str, Any]) -> Quantile:
    values = _choice(entry).values
    weights = entry["probabilities"]
    if not isinstance(weights, list) or len(weights) != len(values):
        raise ValueError("'probabilities' must be a list with one entry for each of 'values'")
    if any(not isinstance(w, int | float) or w < 0 for w in weights) or sum(weights) <= 0:
        raise ValueError("'probabilities' must be numbers >= 0, not all 0")
    bounds = [sum(weights[: i + 1]) / sum(weights) for i in range(len(weights))]

    def value_at(u: float) -> Any:
        found = (v for v, b in zip(values, bounds, strict=True) if u < b)
        return next(found, values[-1])

    return Quantile(value_at, tuple(v for v, w in zip(values, weights, strict=True) if w > 0))


def _int_range(entry: Mapping[str, Any]) -> IntRange:
    low, high = _bounds(entry)
    if not (low.is_integer() and high.is_integer()):
        raise ValueError(f"'min' and 'max' must be whole numbers, got {low:g} and {high:g}")
    return IntRange(int(low), int(high))


def _uniform(entry: Mapping[str, Any]) -> FloatRange:
    return FloatRange(*_bounds(entry))


def _log_uniform(entry: Mapping[str, Any]) -> FloatRange:
    low, high = _bounds(entry)
    return FloatRange(math.exp(low), math.exp(high), is_log=True)


def _log_uniform_values(entry: Mapping[str, Any]) -> FloatRange:
    return FloatRange(*_bounds(entry, least=0.0), is_log=True)


def _inverse_log(entry: Mapping[str, Any], *, of_values: bool) -> Quantile:
    """X with log(1 / X) uniform: for values the same law as log_uniform_values."""
    low, high = _bounds(entry, least=0.0 if of_values else None)
    ends = (math.log(low), math.log(high)) if of_values else (-high, -low)
    return Quantile(lambda u: math.exp(ends[1] + u * (ends[0] - ends[1])))


def _normal(entry: Mapping[str, Any], *, is_log: bool = False) -> Quantile:
    sigma = _number(entry, "sigma", default=1.0)
    if sigma <= 0:
        raise ValueError(f"'sigma' must be > 0, got {sigma:g}")
    law = NormalDist(_number(entry, "mu", default=0.0), sigma)
    return Quantile(lambda u: math.exp(law.inv_cdf(u)) if is_log else law.inv_cdf(u))


def _quantised(entry: Mapping[str, Any], reader: Callable[[Mapping[str, Any]], Any]) -> Quantile:
    """Round the values of another distribution to multiples of `q`."""
    q = _number(entry, "q", default=1.0)
    if q <= 0:
        raise ValueError(f"'q' must be > 0, got {q:g}")
    law = reader(entry)

    def value_at(u: float) -> float:
        return _round(_continuous_value(law, u), q)

    steps = None
    if isinstance(law, FloatRange):
        first, last = round(law.low / q), round(law.high / q)
        if last - first < 10_000:
            steps = tuple(_round(k * q, q) for k in range(first, last + 1))
    return Quantile(value_at, steps)


def _continuous_value(law: FloatRange | Quantile, u: float) -> float:
    if isinstance(law, Quantile):
        return float(law.value_at(u))
    if law.is_log:
        return float(law.low * (law.high / law.low) ** u)
    return law.low + u * (law.high - law.low)


def _round(value: float, q: float) -> float:
    """Round to a multiple of q; a whole number where q is one."""
    multiple = round(value / q) * q
    return int(multiple) if float(q).is_integer() else float(f"{multiple:.12g}")


_RANGE = ("min", "max")
_Q_RANGE = ("min", "max", "q?")
_READERS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Parameter]]] = {
    "constant": (("value",), lambda entry: Constant(entry["value"])),
    "categorical": (("values",), _choice),
    "categorical_w_probabilities": (("values", "probabilities"), _weighted_choice),
    "int_uniform": (_RANGE, _int_range),
    "uniform": (_RANGE, _uniform),
    "q_uniform": (_Q_RANGE, lambda entry: _quantised(entry, _uniform)),
    "log_uniform": (_RANGE, _log_uniform),
    "log_uniform_values": (_RANGE, _log_uniform_values),
    "q_log_uniform": (_Q_RANGE, lambda entry: _quantised(entry, _log_uniform)),
    "q_log_uniform_values": (_Q_RANGE, lambda entry: _quantised(entry, _log_uniform_values)),
    "inv_log_uniform": (_RANGE, lambda entry: _inverse_log(entry, of_values=False)),
    "inv_log_uniform_values": (_RANGE, lambda entry: _inverse_log(entry, of_values=True)),
    "normal": (("mu?", "sigma?"), _normal),
    "q_normal": (("mu?", "sigma?", "q?"), lambda entry: _quantised(entry, _normal)),
    "log_normal": (("mu?", "sigma?"), lambda entry: _normal(entry, is_log=True)),
    "q_log_normal": (
        ("mu?", "sigma?", "q?"),
        lambda entry: _quantised(entry, lambda inner: _normal(inner, is_log=True)),
    ),
}
