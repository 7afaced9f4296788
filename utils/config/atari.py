"""What `env_kwargs` of an Atari game may hold, and what holds where a config is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from utils.config.problems import Problem, did_you_mean

ATARI_PREFIX = "ALE/"

ATARI_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "obs_type": "rgb",
        "frameskip": 4,
        "repeat_action_probability": 0.25,
        "full_action_space": False,
        "maxpool": False,
        "noop_max": 0,
        "fire_reset": False,
        "screen_size": None,
        "max_num_frames_per_episode": 108_000,
        "mode": None,
        "difficulty": None,
    }
)
"""Arguments of `gym_envs.atari.AtariEnv`, with the values that `ALE/*-v5` stands for elsewhere."""

OBS_TYPES = ("rgb", "grayscale", "ram", "objects")
PICTURE_TYPES = ("rgb", "grayscale")


def is_atari(env_id: Any) -> bool:
    """Say whether an id, with or without a module in front, is a game of the Atari family."""
    return isinstance(env_id, str) and env_id.rpartition(":")[2].startswith(ATARI_PREFIX)


def spell_out_env_kwargs(env_id: Any, env_kwargs: Any) -> Any:
    """Return the arguments of an Atari game with every default written out; others unchanged.

    Args:
        env_id: As a config holds it, checked or not.
        env_kwargs: Likewise.
    """
    if not is_atari(env_id) or not isinstance(env_kwargs, Mapping):
        return env_kwargs
    return {**ATARI_DEFAULTS, **env_kwargs}


def find_atari_problems(
    env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    """List what is wrong with the arguments of an Atari game; nothing for other environments.

    Args:
        env_id: Id of the environment.
        env_kwargs: Its arguments, spelled out.
        wrappers: The config's `env_wrappers`.
    """
    if not is_atari(env_id):
        return
    yield from _unknown_problems(env_id, env_kwargs)
    yield from _value_problems(env_kwargs)
    yield from _effect_problems(env_kwargs)
    for index, wrapper in enumerate(wrappers):
        frameskip = env_kwargs["frameskip"]
        if wrapper.get("id") == "FrameSkip" and frameskip != 1:
            yield Problem(
                (f"env_wrappers.{index}", "env_kwargs.frameskip"),
                f"FrameSkip would come on top of env_kwargs.frameskip: {frameskip} of {env_id} "
                "itself: drop the wrapper, or set env_kwargs.frameskip: 1",
            )


def _unknown_problems(env_id: str, env_kwargs: Mapping[str, Any]) -> Iterator[Problem]:
    for key in env_kwargs:
        if key not in (*ATARI_DEFAULTS, "render_mode"):
            known = ", ".join(ATARI_DEFAULTS)
            hint = did_you_mean(key, ATARI_DEFAULTS) or f" (it takes {known})"
            yield Problem((f"env_kwargs.{key}",), f"{env_id} takes no '{key}' in env_kwargs{hint}")


def _value_problems(env_kwargs: Mapping[str, Any]) -> Iterator[Problem]:
    for key, (is_valid, wanted) in _RULES.items():
        if not is_valid(env_kwargs[key]):
            yield Problem(
                (f"env_kwargs.{key}",),
                f"'env_kwargs.{key}' must be {wanted}, got {env_kwargs[key]!r}",
            )


def _effect_problems(env_kwargs: Mapping[str, Any]) -> Iterator[Problem]:
    obs_type = env_kwargs["obs_type"]
    if obs_type in PICTURE_TYPES or obs_type not in OBS_TYPES:
        return
    for key in ("maxpool", "screen_size"):
        if env_kwargs[key]:
            yield Problem(
                (f"env_kwargs.{key}",),
                f"'env_kwargs.{key}' has no effect: obs_type: {obs_type} shows no picture",
            )


def _is_count(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_size(value: Any) -> bool:
    if value is None:
        return True
    is_pair = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
    return is_pair and all(_is_count(side, least=1) for side in value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "obs_type": (lambda value: value in OBS_TYPES, f"one of {', '.join(OBS_TYPES)}"),
    "frameskip": (lambda value: _is_count(value, least=1), "a whole number of frames >= 1"),
    "repeat_action_probability": (_is_share, "a probability in [0, 1]"),
    "full_action_space": (_is_flag, "true or false"),
    "maxpool": (_is_flag, "true or false"),
    "noop_max": (lambda value: _is_count(value, least=0), "a whole number of frames >= 0"),
    "fire_reset": (_is_flag, "true or false"),
    "screen_size": (_is_size, "[height, width] in pixels, or null"),
    "max_num_frames_per_episode": (
        lambda value: _is_count(value, least=1),
        "a whole number of frames >= 1",
    ),
    "mode": (lambda value: value is None or _is_count(value, least=0), "a mode number, or null"),
    "difficulty": (
        lambda value: value is None or _is_count(value, least=0),
        "a difficulty number, or null",
    ),
}
