"""Builds vector envs from an id and options, or from a config.

The names are loaded on first use: the table of families is read before anything heavy is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utils.environment.build import build_env, build_env_from_config, build_evaluation_env
    from utils.environment.threshold import resolve_reward_threshold, solved_threshold

_MODULES = {
    "build_env": "build",
    "build_env_from_config": "build",
    "build_evaluation_env": "build",
    "resolve_reward_threshold": "threshold",
    "solved_threshold": "threshold",
}

__all__ = [
    "build_env",
    "build_env_from_config",
    "build_evaluation_env",
    "resolve_reward_threshold",
    "solved_threshold",
]


def __getattr__(name: str) -> Any:
    """Load a name of this package when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
