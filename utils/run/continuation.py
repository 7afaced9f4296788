"""Whether a run can be trained on, and what `--resume` needs for it."""

from __future__ import annotations

from utils.config import Config
from utils.phases import ALL_COMPLETE


def uses_more_time(*, is_complete: bool, reason: str | None) -> bool:
    """Say whether a run goes on if it is resumed, with a larger budget where it is complete.

    Args:
        is_complete: It came to its end and was tested.
        reason: Why it ended, as its status says.

    Returns:
        False where all phases were carried out: each has its own length, whatever the budget.
    """
    return not (is_complete and reason == ALL_COMPLETE)


def resuming_budget(config: Config, *, is_complete: bool) -> int | None:
    """Return the `--max-timesteps` to train a run on with; None where it needs no other.

    A complete run needs more than it was made for, also where it reached its goal before that.
    """
    return 2 * config.max_timesteps if is_complete else None
