"""Run a script as on a machine where some packages are not installed.

`python -m tests.helpers.without_packages wandb,Box2D run_play.py --run-id ...`
"""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# These come by an extra of Gymnasium's, which is named there and not they.
_OF_GYMNASIUM = {"Box2D"}


class Without:
    """A finder of modules that does not find some packages."""

    def __init__(self, finder: Any, packages: set[str]) -> None:
        self.finder, self.packages = finder, packages

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] in self.packages:
            return None
        return self.finder.find_spec(name, path, target)


def packages_of_extras() -> set[str]:
    """Return the installed packages that only the extras of this project ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {_distribution(line) for line in project["dependencies"]}
    optional = {
        _distribution(line) for lines in project["optional-dependencies"].values() for line in lines
    }
    return _OF_GYMNASIUM | {
        package
        for package, owners in packages_distributions().items()
        if {_normal(owner) for owner in owners} & (optional - base)
    }


def _distribution(requirement: str) -> str:
    return _normal(re.split(r"[\[<>=!~ ]", requirement)[0])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    hidden, *sys.argv = sys.argv[1:]
    sys.meta_path[:] = [Without(finder, set(hidden.split(","))) for finder in sys.meta_path]
    runpy.run_path(sys.argv[0], run_name="__main__")
