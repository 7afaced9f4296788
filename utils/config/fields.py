"""The value types that config fields are made of.

They are strict, because YAML lets a slip of the pen through: text is never read as a number, a
truth value is never read as text or as a number, and no number is infinite. The one conversion
is that of a whole float to an integer, so that `max_timesteps: 1e5` works.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Strict
from pydantic_core import PydanticCustomError


def _whole_float_to_integer(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _check_plain(value: object) -> None:
    """Refuse what JSON cannot hold."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise PydanticCustomError("plain", "must have text as keys")
            _check_plain(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_plain(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("plain", "must hold finite numbers")
    elif not isinstance(value, str | int | float | bool | None):
        kind = type(value).__name__
        raise PydanticCustomError("plain", "must hold plain values, not {kind}", {"kind": kind})


def _plain_mapping(value: dict[str, Any]) -> dict[str, Any]:
    _check_plain(value)
    return value


def _ordered_range(value: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    low, high = value
    if low is not None and high is not None and low > high:
        raise PydanticCustomError("range", "must be [low, high] with low <= high")
    return value


Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Integer = Annotated[int, Strict(), BeforeValidator(_whole_float_to_integer)]
PositiveInteger = Annotated[Integer, Ge(1)]
NonNegativeInteger = Annotated[Integer, Ge(0)]
Count = Annotated[PositiveInteger, Le(2**31 - 1)]
"""As many as 32 bits count, which compiled environments count with."""
Number = Annotated[float, Strict(), AllowInfNan(False)]
PositiveNumber = Annotated[Number, Gt(0)]
NonNegativeNumber = Annotated[Number, Ge(0)]
UnitNumber = Annotated[Number, Ge(0), Le(1)]
"""A number in [0, 1]."""
PositiveUnitNumber = Annotated[Number, Gt(0), Le(1)]
"""A number in (0, 1]."""
ProperShare = Annotated[Number, Ge(0), Lt(1)]
"""A number in [0, 1)."""
PlainMapping = Annotated[dict[str, Any], AfterValidator(_plain_mapping)]
"""Keyword arguments for something outside the schema: values that JSON can hold."""
NumberRange = Annotated[tuple[Number | None, Number | None], AfterValidator(_ordered_range)]
"""[low, high]; null where there is no bound."""
