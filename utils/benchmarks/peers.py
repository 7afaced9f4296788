"""Whom we measure ourselves against."""

from __future__ import annotations

import importlib.util

from utils.errors import MissingDependencyError


def require_sb3(needed_for: str) -> None:
    """Make sure that Stable-Baselines3 is installed, without importing it.

    Raises:
        MissingDependencyError: It is not; the message names the extra.
    """
    if importlib.util.find_spec("stable_baselines3") is None:
        raise MissingDependencyError("stable-baselines3", extra="peers", needed_for=needed_for)
