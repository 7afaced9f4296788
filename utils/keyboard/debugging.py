"""Says whether a thread stands in a debugger, which then reads the keyboard itself."""

from __future__ import annotations

import sys
import threading

_DEBUGGERS = ("/bdb.py", "/pdb.py", "/pydevd.py", "/code.py")


def is_in_debugger(thread: threading.Thread) -> bool:
    """Say whether `thread` is being debugged at this moment (`breakpoint()`, pdb, ...)."""
    frame = sys._current_frames().get(thread.ident or -1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_DEBUGGERS):
            return True
        frame = frame.f_back
    return False
