"""How a process says that it compiles; whoever reads its output knows it by the beginning."""

from __future__ import annotations

import sys

COMPILING = "compiling for this machine"
_silent: list[str] = []
"""Why nothing is said; empty where it is."""


def say_compiling(text: str) -> None:
    """Tell the person that they wait for a compiler: `compiling for this machine ...`."""
    if not _silent:
        print(f"{COMPILING} {text}", file=sys.stderr, flush=True)


def leave_saying_to_another(reason: str) -> None:
    """Say nothing of compiling in this process from now on: another one does.

    Args:
        reason: Who does, for whoever looks.
    """
    _silent.append(reason)
