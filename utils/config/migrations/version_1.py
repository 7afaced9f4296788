"""From version 1 to 2: what a saved config does not say is written out.

While version 1 was in use, settings were added. A run from before such an addition lacks it, and
did what the program did then, whatever the default is by now.
"""

from __future__ import annotations

from typing import Any

_OF_ALL = {
    "reward_scale": 1.0,
    "action_masks": False,
    "test_episodes": 0,  # there was no test at the end of a run
    "trackio": False,
    "trackio_project": "gymnasium-solver",
}
_OF_ROLLOUTS: dict[str, Any] = {"rollouts_per_epoch": 1}
_OF_DREAMS: dict[str, Any] = {"dream_video": False}
_OF_ALGORITHMS: dict[str, dict[str, Any]] = {
    "ppo": {
        **_OF_ROLLOUTS,
        "sequence_length": None,
        "value_normalization": "none",
        "popart_beta": 0.1,
        "exploration": {"kind": "none"},
    },
    "reinforce": _OF_ROLLOUTS,
    "dreamer": _OF_DREAMS,
    "planet": _OF_DREAMS,
}
_OF_ACTOR_CRITICS: dict[str, Any] = {"memory": "none", "memory_dim": 64}
_OF_WORLD_MODELS: dict[str, Any] = {"bins": 255}
_OF_NETWORKS: dict[str, dict[str, Any]] = {
    "ppo": _OF_ACTOR_CRITICS,
    "reinforce": _OF_ACTOR_CRITICS,
    "dreamer": _OF_WORLD_MODELS,
    "planet": _OF_WORLD_MODELS,
}


def fill_in_later_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Write out what a run did by settings that it does not name; what it names stays.

    Args:
        settings: A config as version 1 saved it, without the version.

    Returns:
        The form of version 2.
    """
    algo_id = str(settings.get("algo_id"))
    filled = {**_OF_ALL, **_OF_ALGORITHMS.get(algo_id, {}), **settings}
    if algo_id in _OF_NETWORKS and isinstance(settings.get("policy_kwargs", {}), dict):
        kwargs = settings.get("policy_kwargs", {})
        filled["policy_kwargs"] = {**_OF_NETWORKS[algo_id], **kwargs}
    return filled
