"""Finds the processes of a session, so that whatever a trial started can be told and ended.

A session keeps its number when its leader ends, and a process leaves it only on purpose. Where the
system has no /proc, no process is found.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_POLL_SECONDS = 0.05


def find_processes(session: int) -> dict[int, str]:
    """Return the running processes of a session, number -> name.

    Args:
        session: The process number of the session's leader.
    """
    found = {}
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        # "pid (name) state ppid pgrp session ..."; a name may hold spaces and brackets.
        name = text[text.index("(") + 1 : text.rindex(")")]
        state, _, _, number = text[text.rindex(")") + 2 :].split()[:4]
        if int(number) == session and state != "Z":
            found[int(path.parent.name)] = name
    return found


def wait_for_end(session: int, *, seconds: float) -> list[str]:
    """Wait until a session has no process; return the names of those that are left.

    Args:
        session: The process number of its leader.
        seconds: How long to wait, >= 0.
    """
    deadline = time.perf_counter() + seconds
    while found := find_processes(session):
        if time.perf_counter() >= deadline:
            break
        time.sleep(_POLL_SECONDS)
    return sorted(found.values())


def end_session(session: int) -> None:
    """Kill every process of a session that is left."""
    for number in find_processes(session):
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            continue
