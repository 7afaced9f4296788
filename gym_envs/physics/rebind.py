"""Copies of physics functions that use other constants and other mathematics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from gym_envs.physics.scalar_math import MATH_NAMES


def rebind(
    function: Callable[..., Any],
    *,
    math: Mapping[str, Any],
    constant: Callable[[float], Any],
    compile_helper: Callable[[Callable[..., Any]], Any],
) -> Callable[..., Any]:
    """Copy a physics function so that the names in it mean something else.

    Args:
        function: `transition` or `observe` of a physics module, or a function that they call.
        math: What the names of `scalar_math` shall be.
        constant: Makes a constant of the module into one for the copy, such as `numpy.float32`.
        compile_helper: Applied to the copies of the module's own functions that `function` calls,
            such as `numba.njit`.

    Returns:
        The copy, not compiled.
    """
    assert set(math) == set(MATH_NAMES), (sorted(math), MATH_NAMES)
    assert isinstance(function, FunctionType), function
    module_globals = function.__globals__
    new_globals: dict[str, Any] = {"__builtins__": module_globals["__builtins__"]}
    new_globals["__name__"] = module_globals["__name__"]
    for name in function.__code__.co_names:
        if name in math:
            new_globals[name] = math[name]
        elif name in module_globals:
            value = module_globals[name]
            if isinstance(value, FunctionType):
                new_globals[name] = compile_helper(
                    rebind(value, math=math, constant=constant, compile_helper=compile_helper)
                )
            else:
                assert isinstance(value, float), (name, value)
                new_globals[name] = constant(value)
    copy = FunctionType(function.__code__, new_globals, function.__name__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__doc__ = function.__doc__
    return copy
