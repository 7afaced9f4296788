"""Which plan a person asks for, before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from utils.config import Config, PlanetConfig, TDMPCConfig
from utils.errors import UserError
from utils.inspection.dream_wish import whole_number


def plan_options(config: Config) -> dict[str, Any] | None:
    """Say what plans there are in a run, as JSON holds it; None where its agent does not plan.

    Returns:
        `elites_are`: what becomes of the best candidates, `weighted` or `averaged`.
    """
    match config:
        case TDMPCConfig():
            return {"elites_are": "weighted"}
        case PlanetConfig():
            return {"elites_are": "averaged"}
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanWish:
    """Which plan a person wants to see."""

    step: int
    """Of the episode, 0 to length - 1."""

    @classmethod
    def of_question(cls, question: Any) -> PlanWish:
        """Read what a browser sent.

        Raises:
            UserError: It asks for something that there is not.
        """
        if not isinstance(question, Mapping):
            raise UserError(f"this is no question: {question!r}"[:200])
        return cls(step=whole_number(question.get("step"), "step"))
