"""No garbage collection while modules are imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused(*, keeps: bool = True) -> Iterator[None]:
    """Pause Python's garbage collector.

    Imports make hundreds of thousands of objects that stay for ever; looking through them again
    and again takes a tenth of the time. A collector that is off already stays off.

    Args:
        keeps: Leave what was made meanwhile out of all later rounds; right for modules, wrong for
            what shall be freed one day.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if keeps:
            gc.freeze()
        gc.enable()
