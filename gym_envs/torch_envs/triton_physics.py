"""The environments' physics as Triton functions: the one definition, with Triton's mathematics."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import triton
import triton.language as tl

from gym_envs.physics import ClassicSpec, classic_spec, rebind


@triton.jit
def _clip(x, low, high):
    return tl.minimum(tl.maximum(x, low), high)


@triton.jit
def _cos(x):
    return tl.cos(x)


@triton.jit
def _sin(x):
    return tl.sin(x)


@triton.jit
def _floor(x):
    return tl.floor(x)


@triton.jit
def _where(condition, if_true, if_false):
    return tl.where(condition, if_true, if_false)


_MATH = {"clip": _clip, "cos": _cos, "floor": _floor, "sin": _sin, "where": _where}


@cache
def triton_physics(env_id: str) -> tuple[Any, Any]:
    """Return `transition` and `observe` of an environment for blocks of environments."""
    spec: ClassicSpec = classic_spec(env_id)
    transition, observe = (
        _jit(rebind(function, math=_MATH, constant=_constant, compile_helper=_jit))
        for function in (spec.transition, spec.observe)
    )
    return transition, observe


def _constant(value: float) -> Any:
    """Return a number of the physics as Triton takes it.

    What the interpreter multiplies by a constexpr becomes one, which its mathematics refuses.
    """
    return value if triton.knobs.runtime.interpret else tl.constexpr(value)


def _jit(function: Callable[..., Any]) -> Any:
    function.__globals__["tl"] = tl  # the interpreter looks for it in what it runs
    return triton.jit(function)
