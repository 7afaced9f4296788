"""Which runs a person means: conditions such as `algo=ppo`, `seed=1,2` or `test>400`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from utils.config.problems import did_you_mean
from utils.errors import UserError
from utils.experiments.cells import format_setting
from utils.experiments.records import Record, show_value

_CONDITION = re.compile(r"([A-Za-z_@][\w./+-]*?)\s*(!=|>=|<=|=|>|<)\s*(.*)", re.DOTALL)
_NAMES = {"tag": "tags", "config_id": "config", "env_id": "env", "algo_id": "algo"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a run."""

    key: str
    """A column, a setting or a metric; "" where any part of id, config or group may match."""
    operator: str
    values: tuple[str, ...]
    """One of them is enough; with `!=` none of them may hold."""

    def holds(self, record: Record) -> bool:
        """Say whether a run meets the condition; without a value of the key only `!=` is met."""
        if not self.key:
            places = [record.columns[name] for name in ("id", "config", "group")]
            return any(_contains(place, word) for place in places for word in self.values)
        value = record.value(self.key)
        if self.operator in ("=", "!="):
            found = any(_equals(value, wanted) for wanted in self.values)
            return found == (self.operator == "=")
        return any(_compares(value, self.operator, wanted) for wanted in self.values)


def parse_conditions(words: Iterable[str]) -> list[Condition]:
    """Read conditions; a word without an operator is looked for in id, config and group.

    Raises:
        UserError: A condition has no value.
    """
    conditions = []
    for word in words:
        match = _CONDITION.fullmatch(word)
        if match is None:
            conditions.append(Condition("", "=", (word,)))
            continue
        key, operator, text = match.groups()
        if not text:
            raise UserError(f"'{word}': a value is missing after '{operator}'")
        values = (text,) if text.startswith(("[", "{")) else tuple(text.split(","))
        conditions.append(Condition(_NAMES.get(key, key), operator, values))
    return conditions


def select(records: Sequence[Record], conditions: Sequence[Condition]) -> list[Record]:
    """Return the runs that meet all conditions, in their order.

    Raises:
        UserError: No run has a column, a setting or a metric of the name of a condition, or its
            values cannot be compared with the one that is given.
    """
    for condition in conditions:
        if condition.key:
            check_key(condition.key, records)
            _check_order(condition, records)
    return [record for record in records if all(c.holds(record) for c in conditions)]


def find_idle_values(records: Sequence[Record], conditions: Sequence[Condition]) -> list[str]:
    """Return those of several values of a condition that no run has: `group=a-mistyped-name`."""
    return [
        f"{condition.key}={value}"
        for condition in conditions
        if condition.key and condition.operator == "=" and len(condition.values) > 1
        for value in condition.values
        if not any(_equals(record.value(condition.key), value) for record in records)
    ]


def check_key(key: str, records: Sequence[Record]) -> None:
    """Refuse a name that no run knows.

    Raises:
        UserError: It names the nearest one.
    """
    if not records or any(record.has(key) for record in records):
        return
    known: set[str] = set()
    for record in records:
        known |= {*record.columns, *record.settings, *record.metrics}
    columns = ", ".join(sorted(records[0].columns))
    hint = did_you_mean(key, known)
    raise UserError(
        f"no run has '{key}'{hint} (columns: {columns}; also any setting and any metric)"
    )


def _check_order(condition: Condition, records: Sequence[Record]) -> None:
    """Refuse `<` and `>` where nothing can be larger: numbers beside words, lists, true and false.

    Raises:
        UserError: It says what the values are.
    """
    key, operator = condition.key, condition.operator
    if operator in ("=", "!="):
        return
    known = [value for record in records if (value := record.value(key)) is not None]
    for wanted in condition.values:
        if not known or any(_is_ordered(value, wanted) for value in known):
            continue
        if any(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
            raise UserError(f"'{key}{operator}{wanted}': {key} is a number, and '{wanted}' is none")
        raise UserError(
            f"'{key}{operator}{wanted}': {key} has no larger and smaller values; compare by = or !="
        )


def _is_ordered(value: Any, wanted: str) -> bool:
    if isinstance(value, bool | list | dict):
        return False
    return not isinstance(value, int | float) or _number(wanted) is not None


def canonical_key(key: str) -> str:
    """Return the name by which records know a column."""
    return _NAMES.get(key, key)


def _contains(place: Any, word: str) -> bool:
    return isinstance(place, str) and word.lower() in place.lower()


def _equals(value: Any, wanted: str) -> bool:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return any(fnmatch.fnmatchcase(item.lower(), wanted.lower()) for item in value)
    number = _number(wanted)
    if number is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) == number
    wanted = _plain(wanted)
    texts = (_plain(show_value(value)), _plain(format_setting(value)))
    return any(text == wanted or fnmatch.fnmatchcase(text, wanted) for text in texts)


def _plain(text: str) -> str:
    return text.replace(" ", "").lower()


def _compares(value: Any, operator: str, wanted: str) -> bool:
    if value is None or isinstance(value, bool | list | dict):
        return False
    number = _number(wanted)
    left: Any = value
    right: Any = wanted
    if isinstance(value, int | float):
        if number is None:
            return False
        left, right = float(value), number
    return {
        ">": left > right,
        "<": left < right,
        ">=": left >= right,
        "<=": left <= right,
    }[operator]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
