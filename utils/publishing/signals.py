"""How a publication ends on a signal."""

from __future__ import annotations

import os
import signal
from types import FrameType

from utils.storage import remove_temporary_folders

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def end_on_signals() -> None:
    """End the process at once on Ctrl-C or a request to end, with nothing half-made left.

    An exception could come up at any instruction: within an object that is only half made, or
    where Python swallows it. So nothing unwinds; what has been written is removed, the processes
    that step environments end with this one, and the Hub takes a commit whole or not at all.
    """
    for number in _SIGNALS:
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    remove_temporary_folders()
    if number == signal.SIGINT:
        os.write(2, b"interrupted\n")
    os._exit(128 + number)
