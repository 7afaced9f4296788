"""Environments that are registered with Gymnasium under their own id."""

from __future__ import annotations

import difflib
import importlib
import inspect
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator

from utils.environment.families.family import load
from utils.environment.families.table import family_of
from utils.errors import ConfigError, MissingDependencyError, UserError
from utils.vector_envs.base_vector_env import one_line

_ALWAYS_GIVEN = ("spec", "max_episode_steps", "render_mode")


def find_spec(env_id: str) -> EnvSpec:
    """Return the registered spec of an id; `package.module:Id-v0` imports the module first.

    Args:
        env_id: The id, with the module that registers it in front where it is not built in.

    Raises:
        ConfigError: The id, its version or the module is not known; the nearest ids are given.
    """
    module, _, name = env_id.rpartition(":")
    if module:
        _import_module(module, env_id)
    try:
        return gym.spec(name)
    except gym.error.DeprecatedEnv as error:
        raise ConfigError(f"env_id: {env_id} is retired: {one_line(error)}") from error
    except gym.error.Error as error:
        near = difflib.get_close_matches(name, gym.registry, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ConfigError(f"env_id: there is no environment '{env_id}'{hint}") from error


def why_another(spec: EnvSpec, *, package: str) -> str | None:
    """Say that an id stands for another environment than Gymnasium's own; None if it does not.

    Args:
        spec: Its registered spec.
        package: Of Gymnasium, where its own is defined.
    """
    if str(spec.entry_point).startswith(package) and not spec.additional_wrappers:
        return None
    return f"{spec.id} is registered as another environment than Gymnasium's"


def make_env(spec: EnvSpec, *, max_episode_steps: int | None, kwargs: dict[str, Any]) -> gym.Env:
    """Build one environment with its time limit.

    Args:
        spec: Its registered spec.
        max_episode_steps: Replaces the spec's limit; None keeps it.
        kwargs: Arguments of its constructor.

    Raises:
        ConfigError: An argument is not taken, or the constructor raised.
        MissingDependencyError: It needs an optional package.
    """
    family = family_of(spec.id)
    make = gym.make if family.make is None else load(family.make)
    try:
        return make(spec, max_episode_steps=max_episode_steps, disable_env_checker=True, **kwargs)
    except UserError:
        raise
    except gym.error.DependencyNotInstalled as error:
        raise _needs_package(spec, error) from error
    except Exception as error:
        _refuse_unknown_kwargs(spec, kwargs, error)
        given = f" with env_kwargs {kwargs}" if kwargs else ""
        raise ConfigError(
            f"env_id: {spec.id} could not be built{given}: {type(error).__name__}: "
            f"{one_line(error)}"
        ) from error


def _needs_package(
    spec: EnvSpec, error: gym.error.DependencyNotInstalled
) -> MissingDependencyError | ConfigError:
    """Name the package whose import failed: Gymnasium's text names the one it was written for."""
    cause = error.__cause__
    extra = family_of(spec.id).extra
    if extra is not None and isinstance(cause, ModuleNotFoundError) and cause.name:
        package = cause.name.partition(".")[0]
        return MissingDependencyError(package, extra=extra, needed_for=spec.id)
    reason = f" ({one_line(cause)})" if cause else ""
    return ConfigError(f"env_id: {spec.id} needs a package: {one_line(error)}{reason}")


def _refuse_unknown_kwargs(spec: EnvSpec, kwargs: dict[str, Any], error: Exception) -> None:
    """Raise a ConfigError if an argument is one that nothing takes."""
    parameters, takes_more = _find_parameters(spec)
    for key in kwargs:
        # A constructor that hands others on does not say which it takes: the one that got it did.
        is_refused = f"unexpected keyword argument '{key}'" in str(error)
        if is_refused or not (takes_more or key in parameters):
            near = difflib.get_close_matches(key, parameters, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(parameters)}"
            raise ConfigError(f"env_kwargs: {spec.id} takes no '{key}'; {hint}")


def _find_parameters(spec: EnvSpec) -> tuple[list[str], bool]:
    """Return what an environment takes by name, and whether it hands other names on.

    What the function that builds its family takes is among it; what it is always given is not.
    """
    entry = spec.entry_point
    creators = [load_env_creator(entry) if isinstance(entry, str) else entry]
    make = family_of(spec.id).make
    if make is not None:
        creators.append(load(make))
    found = [p for c in creators if c is not None for p in inspect.signature(c).parameters.values()]
    names = dict.fromkeys(p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL))
    own = [name for name in names if name not in _ALWAYS_GIVEN]
    return own, any(
        p.kind is p.VAR_KEYWORD for p in inspect.signature(creators[0]).parameters.values()
    )


def _import_module(module: str, env_id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(f"env_id: {env_id}: there is no module '{error.name}'") from error
