"""The place in the import system where modules are made lazy."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from typing_extensions import override

from utils.lazy_imports.lazy_module import LazyLoader, LazyModule, LazyState, load_now


@dataclass(frozen=True, slots=True, kw_only=True)
class PostponedModule:
    """A module to load on first use, and what of it can be used without loading it."""

    name: str
    """Full name, as in an import statement."""
    stand_ins: Mapping[str, object] = field(default_factory=dict)
    """Attribute -> what stands for it until the module is loaded."""
    origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Attribute -> submodules to import, in this order; the last one defines it."""
    free_submodules: tuple[str, ...] = ()
    """Last parts of the names of submodules that need nothing of the package's own code."""


class PostponingFinder(MetaPathFinder):
    """Stands before all other finders and gives the modules of a table a lazy loader."""

    def __init__(self) -> None:
        self.modules: dict[str, PostponedModule] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a module of the table, or None for the other finders to go on."""
        parent, _, child = fullname.rpartition(".")
        package = sys.modules.get(parent)
        if type(package) is LazyModule and child not in self.modules[parent].free_submodules:
            # As without us: a package's code runs before its submodules'. It may import this one.
            load_now(package)
            if fullname in sys.modules:
                return _spec_of_loaded(sys.modules[fullname])
        if fullname not in self.modules:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            postponed = self.modules[fullname]
            spec.loader = LazyLoader(LazyState(spec.loader, postponed.stand_ins, postponed.origins))
        return spec


class _LoadedModule(Loader):
    """Hands the import system a module that has been loaded meanwhile."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    @override
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    @override
    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


def _spec_of_loaded(module: ModuleType) -> ModuleSpec:
    spec = ModuleSpec(module.__name__, _LoadedModule(module))
    # The import system takes a spec that it finds here rather than ours, and would run the
    # module's code once more; `exec_module` puts the module's own spec back.
    module.__spec__ = spec
    return spec


_finder = PostponingFinder()


def postpone(modules: Sequence[PostponedModule]) -> None:
    """Load these modules on first use; those that are loaded already stay as they are.

    Args:
        modules: Names that do not exist are never asked for and do no harm.
    """
    _finder.modules.update({module.name: module for module in modules})
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def postponed_names() -> list[str]:
    """Return which modules were imported and have still not been loaded."""
    return sorted(name for name in _finder.modules if type(sys.modules.get(name)) is LazyModule)
