"""What is special about a family of environments: a plain table, read before anything is built."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from utils.errors import MissingDependencyError


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """One family of environments.

    Attributes:
        name: What people call it.
        prefixes: Beginnings of its ids (without the `module:` that may stand in front).
        packages: What must be importable before an id of it is looked up.
        extra: Our optional dependency group that installs `packages`.
        register: `module:function` that makes the ids known to Gymnasium; it may be called again.
        check: `module:function` that takes an id and raises a UserError where something else than
            a package is missing; called before anything is built, in the main process.
        make: `module:function` that builds one of its environments in whichever process it lives,
            with the arguments `(spec, *, max_episode_steps, **kwargs)` of `gymnasium.make`, which
            builds it where this is None.
        timeout_sets_terminated: A time-out arrives as terminated and truncated at once.
        is_slow: A step costs so much that worker processes pay on a few cores.
        one_per_process: Two environments cannot live in one process.
        native: `module` with `why_not_native(env_id, *, options) -> str | None` and
            `build_native(env_id, *, n_envs, n_threads, max_episode_steps, options) -> VectorEnv`,
            for a family that ships a vector environment of its own; None if it has none.
            `options` holds the config's keys that change the environment or what it shows.
    """

    name: str
    prefixes: tuple[str, ...]
    packages: tuple[str, ...] = ()
    extra: str | None = None
    register: str | None = None
    check: str | None = None
    make: str | None = None
    timeout_sets_terminated: bool = False
    is_slow: bool = False
    one_per_process: bool = False
    native: str | None = None

    def missing_package(self) -> str | None:
        """Return the first package that it needs and that is not installed; None for none."""
        return next((name for name in self.packages if not is_installed(name)), None)

    def make_known(self, env_id: str) -> None:
        """Make the ids of the family known to Gymnasium.

        Raises:
            MissingDependencyError: A package that it needs is not installed.
            UserError: Something else that it needs is missing, such as a game's ROM.
        """
        package = self.missing_package()
        if package is not None:
            assert self.extra is not None, self
            raise MissingDependencyError(package, extra=self.extra, needed_for=env_id)
        if self.register is not None:
            load(self.register)()
        if self.check is not None:
            load(self.check)(env_id)


def is_installed(package: str) -> bool:
    """Say whether a package can be imported, without importing it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


def load(path: str) -> Callable[..., Any]:
    """Return what `module:name` says."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
