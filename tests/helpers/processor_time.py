"""What a command costs, told apart from what else the machine does meanwhile."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Sequence
from typing import Any


def run_measured(
    argv: Sequence[str], **options: Any
) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a command to its end; return it and the processor seconds of its processes.

    Waiting, for a processor that others use or for a disk, is no part of it.

    Args:
        argv: The command.
        options: Passed to `subprocess.run`.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
