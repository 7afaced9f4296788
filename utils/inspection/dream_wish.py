"""Which dream a person asks for, before anything heavy is imported."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from utils.config import Config, WorldModelConfig, WorldModelsConfig
from utils.errors import UserError

MOST_STEPS = 200
"""Of a dream."""
_MOST_DRAWS = 1000


def dream_options(config: Config) -> dict[str, Any] | None:
    """Say what can be dreamt in a run, as JSON holds it; None where its agent has no world model.

    Returns:
        `most`: the longest dream, in steps.
    """
    if not isinstance(config, WorldModelConfig | WorldModelsConfig):
        return None
    return {"most": MOST_STEPS}


@dataclass(frozen=True, kw_only=True, slots=True)
class DreamWish:
    """Which dream a person wants to see."""

    step: int
    """From which state on, 0 to length - 1."""
    horizon: int
    """How many steps far, 1 to `MOST_STEPS`."""
    actions: Literal["recorded", "own"]
    """What is done in it: what was done, or what the agent would do there."""
    draw: int | None
    """Seed of the latents, >= 0; None takes the likeliest ones."""

    @classmethod
    def of_question(cls, question: Any) -> DreamWish:
        """Read what a browser sent.

        Raises:
            UserError: It asks for something that there is not.
        """
        if not isinstance(question, Mapping):
            raise UserError(f"this is no question: {question!r}"[:200])
        step, horizon = (whole_number(question.get(name), name) for name in ("step", "horizon"))
        draw = question.get("draw")
        draw = None if draw is None else whole_number(draw, "draw")
        if not 1 <= horizon <= MOST_STEPS:
            raise UserError(f"a dream is 1 to {MOST_STEPS} steps long, not {horizon}")
        if draw is not None and not 0 <= draw < _MOST_DRAWS:
            raise UserError(f"draws are numbered from 0 to {_MOST_DRAWS - 1}, not {draw}")
        actions = question.get("actions")
        if actions not in ("recorded", "own"):
            raise UserError(f"the actions of a dream are recorded or own, not {actions!r}")
        return cls(step=step, horizon=horizon, actions=actions, draw=draw)


def whole_number(value: Any, name: str) -> int:
    """Return a whole number that a browser sent.

    Raises:
        UserError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{name} is a whole number, not {value!r}")
    if value != int(value):
        raise UserError(f"{name} is a whole number, not {value:g}")
    return int(value)
