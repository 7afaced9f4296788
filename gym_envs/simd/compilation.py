"""Compiles the step of one environment from its physics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np

from gym_envs.numba_settings import njit
from gym_envs.physics import ClassicSpec, classic_spec, rebind
from gym_envs.simd import float_math, random_words, rows, step_functions

_NARROW_ANGLES = ("CartPole-v1",)  # an angle beyond 0.21 rad ends the episode

# Strict arithmetic: vector and scalar code give the same bits. What is not said here would be taken
# over from whatever function calls.
_OPTIONS = {"error_model": "numpy", "fastmath": False}
_compile = njit(**_OPTIONS, forceinline=True)
_compile_apart = njit(**_OPTIONS, forceinline=False)


class Kernels(NamedTuple):
    """Compiled functions of one environment, named as in `step_functions`."""

    step_kernel: Any
    step_at: Any
    reset_masked: Any
    observe_all: Any


@functools.cache
def compile_kernels(env_id: str) -> Kernels:
    """Return the kernels of an environment.

    `step_at` is compiled, or loaded, for all kinds of actions that it takes and refuses others with
    a TypeError; the rest follows at the first call.

    Args:
        env_id: One that `classic_spec` knows.
    """
    kinds = [(numba.int64, actions) for actions in _action_types(classic_spec(env_id))]
    return Kernels(
        step_kernel=_finish(step_functions.step_kernel, env_id),
        step_at=_finish(step_functions.step_at, env_id, signatures=kinds),
        reset_masked=_finish(step_functions.reset_masked, env_id),
        observe_all=_finish(step_functions.observe_all, env_id),
    )


@functools.cache
def compile_threaded_step(env_id: str) -> Any:
    """Return `step_at_with_threads` of an environment, compiled as `step_at` is."""
    kinds = [(numba.int64, actions, numba.int64) for actions in _action_types(classic_spec(env_id))]
    return _finish(step_functions.step_at_with_threads, env_id, signatures=kinds, parallel=True)


@functools.cache
def find_step_pointer(env_id: str) -> int:
    """Return the address of `step_part` of an environment with C's calling convention.

    Compiled code can be handed an address; a compiled function as its argument would have it
    compiled anew in every process.
    """
    copy = _fill(step_functions.step_part, _bind(env_id))
    copy.__qualname__ = f"step_part_for_c_{classic_spec(env_id).module_name}"
    number = numba.int64
    signature = number(number, number, number)
    return numba.cfunc(signature, cache=True, error_model=_OPTIONS["error_model"])(copy).address


def _finish(
    function: Callable[..., Any], env_id: str, *, signatures: Any = None, **options: Any
) -> Any:
    copy = _fill(function, _bind(env_id))
    # The file on disk is found by this name: two environments must not share one.
    copy.__qualname__ = f"{function.__name__}_{classic_spec(env_id).module_name}"
    return njit(signatures, cache=True, **_OPTIONS, **options)(copy)


@functools.cache
def _bind(env_id: str) -> dict[str, Any]:
    """Return what the names in `step_functions` are to mean for one environment."""
    spec = classic_spec(env_id)
    names = _bind_physics(spec) | _bind_sizes(spec)
    for pattern in ("step_rows", "step_part", "take_all_actions"):
        copy = _fill(getattr(step_functions, pattern), names)
        # Code that is loaded from two files is linked by this name: that of another environment
        # would be called.
        copy.__qualname__ = f"{pattern}_{spec.module_name}"
        names[pattern] = _compile_apart(copy)
    return names


def most_threads() -> int:
    """Return the largest number of threads that numba has."""
    return numba.config.NUMBA_NUM_THREADS


def _bind_physics(spec: ClassicSpec) -> dict[str, Any]:
    suffix = "_small" if spec.env_id in _NARROW_ANGLES else ""
    math = {
        "where": _compile_pattern(float_math.where),
        "clip": _compile_pattern(float_math.clip),
        "floor": _compile_pattern(float_math.round_down),
        "sin": _compile_pattern(getattr(float_math, f"sin{suffix}")),
        "cos": _compile_pattern(getattr(float_math, f"cos{suffix}")),
    }
    options = {"math": math, "constant": np.float32, "compile_helper": _compile}
    return {
        "transition": _compile(rebind(spec.transition, **options)),
        "observe": _compile(rebind(spec.observe, **options)),
    }


def _bind_sizes(spec: ClassicSpec) -> dict[str, Any]:
    n_state, n_observation = spec.n_state, spec.n_observation
    low = np.array(spec.initial_low, dtype=np.float32)
    span = np.array(spec.initial_high, dtype=np.float32) - low
    take = _fill(
        step_functions.take_discrete_actions
        if spec.n_actions
        else step_functions.take_real_actions,
        {"N_ACTIONS": spec.n_actions},
    )
    take.__qualname__ = f"take_actions_{spec.module_name}"
    functions = {
        "state_rows": getattr(rows, f"rows_{n_state}"),
        "load_state": getattr(rows, f"load_{n_state}"),
        "store_state": getattr(rows, f"store_{n_state}"),
        "select_state": getattr(rows, f"select_{n_state}"),
        "draw_state": getattr(random_words, f"draw_{n_state}"),
        "observation_rows": getattr(rows, f"rows_{n_observation}"),
        "store_observation": getattr(rows, f"store_{n_observation}"),
        "write_observation": getattr(rows, f"write_{n_observation}"),
        "has_any": step_functions.has_any,
        "take_actions": take,
    }
    return {
        **{name: _compile_pattern(function) for name, function in functions.items()},
        "INITIAL_LOW": tuple(low),
        "INITIAL_SPAN": tuple(span),
        "N_STATE": n_state,
        "N_OBSERVATION": n_observation,
        "ACTION_TYPE": np.int32 if spec.n_actions else np.float32,
    }


def _action_types(spec: ClassicSpec) -> list[numba.types.Array]:
    if spec.n_actions:
        return [numba.int64[::1], numba.int32[::1]]
    return [numba.float32[:, ::1]]


def _fill(function: Callable[..., Any], names: Mapping[str, Any]) -> FunctionType:
    """Copy a pattern so that the given names mean something else in it."""
    assert isinstance(function, FunctionType), function
    used = {name: names[name] for name in function.__code__.co_names if name in names}
    copy = FunctionType(function.__code__, function.__globals__ | used, function.__name__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__doc__ = function.__doc__
    return copy


def _compile_pattern(function: Callable[..., Any]) -> Any:
    """Compile a function with those of its module that it calls."""
    assert isinstance(function, FunctionType), function
    called = {
        name: _compile_pattern(value)
        for name in function.__code__.co_names
        if isinstance(value := function.__globals__.get(name), FunctionType)
    }
    return _compile(_fill(function, called))
