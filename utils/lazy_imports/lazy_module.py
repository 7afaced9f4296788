"""A module whose code has not been run yet."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# The import system asks whether a module is a package (one has its path from the beginning),
# unittest for the registry of warnings.
_ASKED_OF_ALL = ("__path__", "__warningregistry__")


@dataclass(slots=True)
class LazyState:
    """What is known of a module before its code has been run; kept in its spec."""

    loader: Loader
    """Runs the module's code."""
    stand_ins: Mapping[str, object]
    """Attribute -> what stands for it until then."""
    origins: Mapping[str, tuple[str, ...]]
    """Attribute -> modules that import without this one, in this order; the last defines it."""
    is_loading: bool = False
    lock: Any = field(default_factory=threading.RLock)


class LazyModule(ModuleType):
    """Runs the module's code when an attribute is asked for that is not there yet.

    The object stays the same, so every reference to it sees the loaded module. Attributes that
    are set before then (the import system sets submodules) and stand-ins load nothing.
    """

    def __getattr__(self, name: str) -> Any:
        state = _state(self)
        if name in _ASKED_OF_ALL:
            raise AttributeError(name)
        if not state.is_loading and name in state.origins:
            return getattr([import_module(origin) for origin in state.origins[name]][-1], name)
        load_now(self)
        if type(self) is LazyModule:  # asked for by its own code, or by what that imports
            raise AttributeError(f"partially initialized module {self.__name__!r} has no {name!r}")
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        is_import_system = isinstance(value, ModuleType) or name in ("__spec__", "__class__")
        if not is_import_system:
            load_now(self)  # its code would overwrite what is set now
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        load_now(self)
        ModuleType.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        load_now(self)
        return list(ModuleType.__dir__(self))


class LazyLoader(Loader):
    """Makes a module without running its code; to be put into the spec in a loader's place."""

    def __init__(self, state: LazyState) -> None:
        self._state = state

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the module's own loader create it."""
        return self._state.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Put off running the module's code."""
        assert module.__spec__ is not None, module
        module.__spec__.loader_state = self._state
        module.__dict__.update(self._state.stand_ins)
        module.__class__ = LazyModule


def load_now(module: ModuleType) -> None:
    """Run the code of a lazy module if that has not happened; do nothing for any other module.

    Raises:
        Exception: What the module's code raises; the module is then as lazy as before.
    """
    if type(module) is not LazyModule:
        return
    state = _state(module)
    with state.lock:
        if type(module) is not LazyModule or state.is_loading:
            return
        state.is_loading = True
        spec = module.__spec__
        assert spec is not None, module
        lazy_loader, spec.loader = spec.loader, state.loader
        attributes = module.__dict__
        attributes["__loader__"] = state.loader
        for name in state.stand_ins:
            attributes.pop(name, None)
        try:
            state.loader.exec_module(module)
        except BaseException:
            spec.loader = attributes["__loader__"] = lazy_loader
            attributes.update(state.stand_ins)
            state.is_loading = False
            raise
        module.__class__ = ModuleType  # type: ignore[assignment]


def _state(module: ModuleType) -> LazyState:
    assert module.__spec__ is not None, module
    state = module.__spec__.loader_state
    assert isinstance(state, LazyState), (module.__name__, state)
    return state
