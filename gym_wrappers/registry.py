"""The table of wrappers that a config may name.

A wrapper class says by class attributes what it changes for the learner, so that reports stay
true: `changes_reward = True` obliges it to keep the last step's true reward in `raw_reward`,
`changes_termination = True` to keep in `episode_over` whether the last step ended the true
episode. Its `reset` leaves both alone. Where it ends an episode that is not over, its next
`reset` goes on with the same episode and takes no step of its own.

A wrapper that cannot do without a render mode names it in `needs_render_mode`. One that
remembers more than one episode has `get_memory()`, which returns arrays and plain containers, and
`set_memory(memory)`, so that a run which is resumed goes on with it. Random numbers are drawn from
`env.unwrapped.np_random` alone, which is seeded and saved with the environment.

An argument named `gamma` is the learner's discount: a config is refused where the two differ.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from utils.errors import ConfigError


class EnvWrapperRegistry:
    """Maps wrapper names to classes; a class is imported when it is first asked for."""

    _entries: dict[str, str | type[gym.Wrapper]] = {  # noqa: RUF012 - one table for all
        "ActionGrid": "gym_wrappers.action_grid.wrapper:ActionGrid",
        "ActionRemap": "gym_wrappers.action_remap.wrapper:ActionRemap",
        "CartPolePotential": "gym_wrappers.cart_pole_potential.wrapper:CartPolePotential",
        "ClipReward": "gym_wrappers.clip_reward.wrapper:ClipReward",
        "DiscreteEncoder": "gym_wrappers.discrete_encoder.wrapper:DiscreteEncoder",
        "EpisodicLife": "gym_wrappers.episodic_life.wrapper:EpisodicLife",
        "FrameSkip": "gym_wrappers.frame_skip.wrapper:FrameSkip",
        "MarioProgress": "gym_wrappers.mario_progress.wrapper:MarioProgress",
        "MountainCarEnergy": "gym_wrappers.mountain_car_energy.wrapper:MountainCarEnergy",
        "ObservationPrinter": "gym_wrappers.observation_printer.wrapper:ObservationPrinter",
        "PixelObservation": "gym_wrappers.pixel_observation.wrapper:PixelObservation",
        "PongShaping": "gym_wrappers.pong_shaping.wrapper:PongShaping",
        "ScaleObservation": "gym_wrappers.scale_observation.wrapper:ScaleObservation",
        "SelectObservation": "gym_wrappers.select_observation.wrapper:SelectObservation",
        "StateCountBonus": "gym_wrappers.state_count_bonus.wrapper:StateCountBonus",
        "StickyActions": "gym_wrappers.sticky_actions.wrapper:StickyActions",
        "TimeLimit": "gym_wrappers.time_limit.wrapper:TimeLimit",
    }

    @classmethod
    def register(cls, name: str, wrapper: type[gym.Wrapper]) -> None:
        """Add a wrapper class, which must be importable by its module and name.

        Raises:
            ConfigError: The name is taken by another class.
        """
        if name in cls._entries and cls.get(name) is not wrapper:
            raise ConfigError(f"env wrapper '{name}' is registered already: {cls._entries[name]}")
        cls._entries[name] = wrapper

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(cls._entries))

    @classmethod
    def get(cls, name: str) -> type[gym.Wrapper]:
        """Return the class of a name.

        Raises:
            ConfigError: There is no such name; the nearest ones are given.
        """
        entry = cls._entries.get(name)
        if entry is None:
            raise ConfigError(
                f"env_wrappers: unknown wrapper '{name}'{_nearest(name, cls.names())}"
            )
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            return getattr(importlib.import_module(module), attribute)
        return entry

    @classmethod
    def resolve(cls, entry: Mapping[str, Any]) -> tuple[type[gym.Wrapper], dict[str, Any]]:
        """Turn one YAML entry `{id: Name, **kwargs}` into a class and its checked arguments.

        Raises:
            ConfigError: No id, an unknown id, or an argument that the wrapper does not take or
                lacks, or that is no number where its signature says `int` or `float`.
        """
        kwargs = dict(entry)
        name = kwargs.pop("id", None)
        if name is None:
            raise ConfigError(f"env_wrappers: the entry {dict(entry)} has no 'id'")
        wrapper = cls.get(name)
        _check_arguments(name, wrapper, kwargs)
        return wrapper, kwargs

    @staticmethod
    def wrap(env: gym.Env, wrapper: type[gym.Wrapper], kwargs: Mapping[str, Any]) -> gym.Wrapper:
        """Put a wrapper around an environment.

        Raises:
            ConfigError: The wrapper refuses the environment, or cannot use an argument's value.
        """
        try:
            return wrapper(env, **kwargs)
        except (TypeError, ValueError) as error:
            text = " ".join(str(error).split())
            raise ConfigError(
                f"env_wrappers: {wrapper.__name__} cannot be made with {dict(kwargs)}: "
                f"{type(error).__name__}: {text}"
            ) from error


def _check_arguments(name: str, wrapper: type[gym.Wrapper], kwargs: dict[str, Any]) -> None:
    parameters = dict(list(inspect.signature(wrapper).parameters.items())[1:])  # without env
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for key in kwargs:
        if key not in parameters:
            raise ConfigError(
                f"env_wrappers: {name} takes no '{key}'{_nearest(key, tuple(parameters))}"
            )
    for key, parameter in parameters.items():
        if key in kwargs:
            _check_number(name, key, kwargs[key], annotation=parameter.annotation)
        elif parameter.default is parameter.empty:
            raise ConfigError(f"env_wrappers: {name} needs '{key}'")


def _check_number(name: str, key: str, value: Any, *, annotation: Any) -> None:
    """Refuse another value where a wrapper's signature asks for a number and nothing else."""
    if annotation in ("int", int):
        wanted, is_one = "a whole number", isinstance(value, int)
    elif annotation in ("float", float):
        wanted, is_one = "a number", isinstance(value, int | float)
    else:
        return
    if not is_one or isinstance(value, bool):
        raise ConfigError(f"env_wrappers: {name}: {key} must be {wanted}, got {value!r}")


def _nearest(word: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f" (known: {', '.join(known)})" if known else " (it takes none)"
