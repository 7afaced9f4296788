"""Becomes the engine given as arguments, tied to the process that started it.

Run as a script, before anything else is imported: the engine must not outlive its environment, and
a Ctrl-C in the terminal is for the program alone, which may want to step on to the end of its work.
"""

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Leave the terminal's process group, die with the parent, become the engine."""
    parent = int(sys.argv[1])
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the environment of this engine ended before it began")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
