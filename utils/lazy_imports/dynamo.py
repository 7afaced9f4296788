"""Stand-ins for the entry points of torch's compiler that are called when nothing is compiled.

Lightning asks whether a model is compiled, optimisers keep parts of themselves from being compiled.
As long as `torch._dynamo` is not loaded nothing is, so the answers are known; from then on they
are its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from typing import Any

from utils.lazy_imports.finder import PostponedModule
from utils.lazy_imports.lazy_module import LazyModule, load_now

_NAME = "torch._dynamo"


def _is_loaded() -> bool:
    return type(sys.modules.get(_NAME)) is not LazyModule


def _load() -> Any:
    module = import_module(_NAME)
    load_now(module)
    return module


class _CompiledModuleType(type):
    """Answers `isinstance` and `issubclass` as the real class would."""

    def __instancecheck__(cls, instance: object) -> bool:
        return _is_loaded() and isinstance(instance, _load().OptimizedModule)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return _is_loaded() and issubclass(subclass, _load().OptimizedModule)


class CompiledModule(metaclass=_CompiledModuleType):
    """Stands for `OptimizedModule`, the class of what `torch.compile` makes of a module."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make one of the real class."""
        return _load().OptimizedModule(*args, **kwargs)


def disable(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Keep a function from being compiled, once something can be.

    Args:
        fn: A function; anything else loads the compiler and is left to it.
        args: See `torch._dynamo.disable`.
        kwargs: See `torch._dynamo.disable`.
    """
    if not isfunction(fn):
        return _load().disable(fn, *args, **kwargs)
    disabled: Callable[..., Any] | None = None

    def call(*call_args: Any, **call_kwargs: Any) -> Any:
        nonlocal disabled
        if disabled is None:
            if not _is_loaded():
                return fn(*call_args, **call_kwargs)
            disabled = _load().disable(fn, *args, **kwargs)
        return disabled(*call_args, **call_kwargs)

    return call


def graph_break(*args: Any, **kwargs: Any) -> None:
    """Do nothing, as the real one outside of a function that is being compiled."""
    if _is_loaded():
        _load().graph_break(*args, **kwargs)


DYNAMO = PostponedModule(
    name=_NAME,
    stand_ins={
        "OptimizedModule": CompiledModule,
        "disable": disable,
        "graph_break": graph_break,
    },
)
