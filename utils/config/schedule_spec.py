"""How a schedule is written in a config: a number, `lin_0.001`, or a mapping."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from utils.schedules import Schedulable, ScheduleSpec

_LINEAR = re.compile(r"lin_(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)")
_KEYS = ("start", "end", "from", "to")
_FORMS = "a number >= 0, lin_<start>, or a mapping {start, end, from, to}"


class SchedulableMarker:
    """Marks the fields of a config that take a schedule."""


def parse_schedule(value: object) -> Schedulable:
    """Read one schedulable value.

    Args:
        value: A number >= 0; `lin_<start>`, which falls from start to 0 over the whole run; a
            mapping with start and end >= 0 and, if wanted, from and to (fractions of the run in
            [0, 1], timesteps above 1); or a ScheduleSpec, which is checked like a mapping.

    Returns:
        A number or a schedule.

    Raises:
        PydanticCustomError: The value has none of these forms.
    """
    if isinstance(value, ScheduleSpec):
        return _from_mapping(schedule_to_plain(value))  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, str) and (match := _LINEAR.fullmatch(value)):
        start = float(match[1])
        if math.isfinite(start):
            return ScheduleSpec(start=start, end=0.0)
    if _is_amount(value):
        return float(value)  # type: ignore[arg-type]
    raise PydanticCustomError("schedule", "must be {forms}", {"forms": _FORMS})


def schedule_to_plain(value: Schedulable | None) -> float | dict[str, float] | None:
    """Write a schedulable value as JSON holds it: a number, a mapping, or null."""
    if isinstance(value, ScheduleSpec):
        return {"start": value.start, "end": value.end, "from": value.from_, "to": value.to}
    return value


def _is_amount(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0


def _from_mapping(value: Mapping[str, Any]) -> ScheduleSpec:
    for key, item in value.items():
        if key not in _KEYS:
            raise PydanticCustomError(
                "schedule_key", "unknown", {"subkey": str(key), "choices": list(_KEYS)}
            )
        if not _is_amount(item):
            raise PydanticCustomError("schedule_number", "must be a number >= 0", {"subkey": key})
    for key in ("start", "end"):
        if key not in value:
            raise PydanticCustomError("schedule_missing", "has no '{missing}'", {"missing": key})
    marks = {"from_": value.get("from", 0.0), "to": value.get("to", 1.0)}
    return ScheduleSpec(
        start=float(value["start"]),
        end=float(value["end"]),
        **{name: float(mark) for name, mark in marks.items()},
    )


def _parse_optional_schedule(value: object) -> Schedulable | None:
    return None if value is None else parse_schedule(value)


def _parse_unit_schedule(value: object) -> Schedulable:
    schedule = parse_schedule(value)
    ends = (schedule.start, schedule.end) if isinstance(schedule, ScheduleSpec) else (schedule,)
    if max(ends) > 1:
        raise PydanticCustomError("schedule_unit", "must stay between 0 and 1")
    return schedule


def _parse_optional_positive_schedule(value: object) -> Schedulable | None:
    schedule = _parse_optional_schedule(value)
    if schedule is None:
        return None
    ends = (schedule.start, schedule.end) if isinstance(schedule, ScheduleSpec) else (schedule,)
    if min(ends) <= 0:
        raise PydanticCustomError("schedule_positive", "must stay above 0 (null: none)")
    return schedule


ScheduleField = Annotated[
    Schedulable,
    PlainValidator(parse_schedule),
    PlainSerializer(schedule_to_plain),
    SchedulableMarker(),
]
"""A hyperparameter >= 0 that may follow a schedule."""
OptionalScheduleField = Annotated[
    Schedulable | None,
    PlainValidator(_parse_optional_schedule),
    PlainSerializer(schedule_to_plain),
    SchedulableMarker(),
]
"""A hyperparameter >= 0 that may follow a schedule, or be null."""
UnitScheduleField = Annotated[
    Schedulable,
    PlainValidator(_parse_unit_schedule),
    PlainSerializer(schedule_to_plain),
    SchedulableMarker(),
]
"""A hyperparameter in [0, 1] that may follow a schedule."""
OptionalPositiveScheduleField = Annotated[
    Schedulable | None,
    PlainValidator(_parse_optional_positive_schedule),
    PlainSerializer(schedule_to_plain),
    SchedulableMarker(),
]
"""A hyperparameter above 0 that may follow a schedule, or be null."""
