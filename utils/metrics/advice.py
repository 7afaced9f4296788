"""Which of the remedies of an alert a config leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from utils.schedules import ScheduleSpec

_ADVICE = re.compile(r"(set|lower|raise) ([a-z][\w.]*)(?:: ([^\s,;]+))?")
_MISSING = object()


def fixes_that_apply(fixes: Iterable[str], config: Any) -> tuple[str, ...]:
    """Return the fixes that would change something in a run of this config.

    `set KEY: VALUE` is left out where the config has no such key or holds the value already, a
    number also where a smaller one is set, `lin_...` where any schedule is; `set KEY` where it is
    set; `lower KEY` and `raise KEY` where there is no number to change. All other text stays.

    Args:
        fixes: What an alert advises.
        config: The config of the run; keys are its attributes, dots lead into blocks.
    """
    return tuple(fix for fix in fixes if _applies(fix, config))


def _applies(fix: str, config: Any) -> bool:
    advice = _ADVICE.match(fix)
    if advice is None:
        return True
    verb, key, text = advice.groups()
    held = _look_up(config, key)
    if held is _MISSING:
        return False
    if verb == "lower":
        return isinstance(held, ScheduleSpec) or (held is not None and held > _least(held))
    if verb == "raise":
        return held is not None
    return held is None if text is None else _would_change(held, text)


def _least(held: float) -> float:
    """Return what cannot be lowered: a count has at least one of what it counts."""
    return 1 if isinstance(held, int) else 0.0


def _would_change(held: Any, text: str) -> bool:
    if text.startswith("lin_"):
        return not isinstance(held, ScheduleSpec)
    value = yaml.safe_load(text)
    if isinstance(value, bool | str) or isinstance(held, bool | str):
        return bool(held != value)
    return held is None or isinstance(held, ScheduleSpec) or held > value


def _look_up(config: Any, key: str) -> Any:
    held = config
    for name in key.split("."):
        held = getattr(held, name, _MISSING)
        if held is _MISSING:
            return _MISSING
    return held
