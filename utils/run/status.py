"""How a run stands: the record its process writes, and what the record means for a reader."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from utils.run.heartbeat import GONE_SECONDS, seconds_silent

RunStatus = Literal["running", "completed", "interrupted", "failed"]


def status_record(state: RunStatus, facts: Mapping[str, object]) -> dict[str, Any]:
    """Return the record that names this process as the one that reports `state`."""
    assert state in get_args(RunStatus), state
    pid = os.getpid()
    return {
        "status": state,
        "pid": pid,
        "pid_started_ticks": process_start(pid),
        "host": platform.node(),
        "updated_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        **facts,
    }


def interpret(record: Mapping[str, object] | None, folder: Path) -> dict[str, Any]:
    """Return the record as it holds now.

    A record that says running, of a process that is gone, reads as `died`. One of this machine is
    looked up; its id can be used again, so the time at which it started is compared as well. One
    of another machine is gone when it has given no sign of life for some minutes; then
    `silent_seconds` says for how long.

    Args:
        record: What the process wrote; None where it wrote nothing.
        folder: The run's, which holds the signs of life.
    """
    if record is None or record.get("status") not in get_args(RunStatus):
        return {"status": "unknown"}
    current = dict(record)
    if current["status"] != "running":
        return current
    if not is_elsewhere(current):
        return current if _is_alive(current) else current | {"status": "died"}
    silent = seconds_silent(folder)
    if silent < GONE_SECONDS:
        return current
    return current | {"status": "died", "silent_seconds": silent}


def is_elsewhere(record: Mapping[str, Any]) -> bool:
    """Say whether the process that wrote a record is one of another machine."""
    return record.get("host") != platform.node()


def session_id(record: Mapping[str, Any]) -> str:
    """Return what names the process that wrote a record, among all processes of all hosts."""
    return f"{record.get('host')}:{record.get('pid')}:{record.get('pid_started_ticks')}"


def process_start(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the machine did.

    Returns:
        None where the system does not tell, or when there is no such process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field, the program's name in parentheses, may hold spaces.
    fields = stat.rpartition(")")[2].split()
    is_zombie = fields[0] in "ZX"
    return None if is_zombie else int(fields[19])


def _is_alive(record: Mapping[str, Any]) -> bool:
    pid = record.get("pid")
    if not isinstance(pid, int):
        return False
    if Path("/proc/self/stat").exists():
        started = process_start(pid)
        return started is not None and started == record.get("pid_started_ticks")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
