"""Says whether a debugger is attached, so that environments stay in the debugged process."""

from __future__ import annotations

import sys

_DEBUGGER_TOOL_ID = 0  # sys.monitoring.DEBUGGER_ID (PEP 669)


def is_debugger_attached() -> bool:
    """Say whether this process runs under a debugger (pdb, debugpy, pydevd, ...).

    A debugger traces (`sys.settrace`), or has taken the debugger's place in `sys.monitoring`
    (Python 3.12 and later). Coverage and profilers that use the other places do not count.
    """
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and monitoring.get_tool(_DEBUGGER_TOOL_ID) is not None:
        return True
    trace = sys.gettrace()
    return trace is not None and not _belongs_to_coverage(trace)


def _belongs_to_coverage(trace: object) -> bool:
    module = getattr(trace, "__module__", None) or type(trace).__module__
    return module.partition(".")[0] == "coverage"
