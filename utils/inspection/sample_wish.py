"""Which sequences of actions a person wants to see drawn, before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from utils.config import Config, DiffusionConfig
from utils.errors import UserError
from utils.inspection.dream_wish import whole_number

N_SEQUENCES = 24
"""That are drawn at a step."""


def sample_options(config: Config) -> dict[str, Any] | None:
    """Say what can be drawn in a run, as JSON holds it; None where its agent draws no sequences.

    Returns:
        `n`: how many sequences are drawn.
    """
    return {"n": N_SEQUENCES} if isinstance(config, DiffusionConfig) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleWish:
    """At which step a person wants to see sequences drawn."""

    step: int
    """Of the episode, 0 to length - 1."""

    @classmethod
    def of_question(cls, question: Any) -> SampleWish:
        """Read what a browser sent.

        Raises:
            UserError: It asks for something that there is not.
        """
        if not isinstance(question, Mapping):
            raise UserError(f"this is no question: {question!r}"[:200])
        return cls(step=whole_number(question.get("step"), "step"))
