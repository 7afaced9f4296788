"""The Atari games: one environment at a time, or all in ALE's own vector environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gym_wrappers import EnvWrapperRegistry
from utils.config.atari import (
    ATARI_DEFAULTS,
    PICTURE_TYPES,
    find_atari_problems,
    spell_out_env_kwargs,
)
from utils.environment.families.standard import find_spec

if TYPE_CHECKING:
    from utils.vector_envs.native_atari import NativeAtariVectorEnv

_LIFE_LOSS, _CLIPPING = "EpisodicLife", "ClipReward"
_SMALLEST_SIDE = 16  # pixels; a smaller grey array is taken for no picture elsewhere


def register() -> None:
    """Make the ids `ALE/*-v5` known to Gymnasium, as our environment."""
    from gym_envs.atari import register_games

    register_games(ATARI_DEFAULTS)


def why_not_native(env_id: str, *, options: Mapping[str, Any]) -> str | None:
    """Say what ALE's vector environment cannot do as one environment at a time does it.

    Args:
        env_id: Id of a game.
        options: Config key -> value of what changes the environment or its observations.

    Returns:
        The first thing that stands in the way, or None.
    """
    settings = spell_out_env_kwargs(env_id, options["env_kwargs"])
    problem = next(find_atari_problems(env_id, settings, ()), None)
    if problem is not None:
        return problem.message
    return next(_obstacles(settings, options), None)


def _obstacles(settings: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[str]:
    obs_type = settings["obs_type"]
    if obs_type not in PICTURE_TYPES:
        yield f"ALE's vector environment shows no obs_type: {obs_type}"
    for key in ("mode", "difficulty"):
        if settings[key] is not None:
            yield f"ALE's vector environment has no env_kwargs.{key}"
    size = settings["screen_size"]
    if size is not None and min(size) < _SMALLEST_SIDE:
        yield f"a picture needs sides of at least {_SMALLEST_SIDE} pixels, not {list(size)}"
    if options["grayscale_obs"]:
        yield "instead of grayscale_obs, ALE's vector environment takes env_kwargs.obs_type"
    if options["resize_obs"]:
        yield "instead of resize_obs, ALE's vector environment takes env_kwargs.screen_size"
    orders = ("auto", "last") if obs_type == "rgb" else ("auto", "first", "last")
    if options["channel_order"] not in orders:
        yield f"ALE's vector environment has no channel_order: {options['channel_order']}"
    names = [wrapper.get("id") for wrapper in options["env_wrappers"]]
    foreign = [str(name) for name in names if name not in (_LIFE_LOSS, _CLIPPING)]
    if foreign:
        yield f"ALE's vector environment takes no wrapper {', '.join(foreign)}"
    if len(set(names)) < len(names):
        yield "ALE's vector environment takes a wrapper once"


def build_native(
    env_id: str,
    *,
    n_envs: int,
    n_threads: int | None,
    max_episode_steps: int | None,
    options: Mapping[str, Any],
) -> NativeAtariVectorEnv:
    """Build ALE's vector environment of a game.

    Args:
        env_id: Id of a game for which `why_not_native` finds nothing.
        n_envs: Number of environments, at least 1.
        n_threads: Threads that step them; None for one per core.
        max_episode_steps: Time limit in steps, beside the game's in frames.
        options: As for `why_not_native`.

    Raises:
        ConfigError: There is no such game, or a wrapper's argument is wrong.
    """
    from utils.vector_envs.native_atari import NativeAtariVectorEnv

    settings = spell_out_env_kwargs(env_id, options["env_kwargs"])
    game = find_spec(env_id).kwargs["game"]
    return NativeAtariVectorEnv(
        game,
        env_id=env_id,
        n_envs=n_envs,
        n_threads=n_threads,
        max_episode_steps=max_episode_steps,
        ends_with_life=any(w["id"] == _LIFE_LOSS for w in options["env_wrappers"]),
        reward_bounds=_find_reward_bounds(options["env_wrappers"]),
        ale_settings={
            "max_num_frames_per_episode": settings["max_num_frames_per_episode"],
            "repeat_action_probability": float(settings["repeat_action_probability"]),
            "full_action_space": settings["full_action_space"],
            "grayscale": settings["obs_type"] == "grayscale",
            "stack_num": options["frame_stack"],
            "frameskip": settings["frameskip"],
            "maxpool": settings["maxpool"],
            "noop_max": settings["noop_max"],
            "use_fire_reset": settings["fire_reset"],
        },
        screen_size=settings["screen_size"],
    )


def _find_reward_bounds(wrappers: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Check the wrappers' arguments; return what rewards are clipped to, if they are."""
    bounds = None
    for entry in wrappers:
        wrapper, arguments = EnvWrapperRegistry.resolve(entry)
        if entry["id"] == _CLIPPING:
            around_nothing = EnvWrapperRegistry.wrap(gym.Env(), wrapper, arguments)
            bounds = around_nothing.bounds  # type: ignore[attr-defined]
    return bounds
