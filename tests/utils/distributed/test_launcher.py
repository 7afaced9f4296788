"""How the processes that a leader has started end, and what is said of it."""

import signal
import subprocess
import sys

import pytest

from utils.distributed.launcher import Followers

WELL = "pass"
FAILED = "raise SystemExit(3)"
GONE = f"import os; os.kill(os.getpid(), {signal.SIGKILL.value})"
HANGS = "import threading; threading.Event().wait()"


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (WELL, []),
        (FAILED, ["the process of rank 1 has failed with exit code 3"]),
        (GONE, ["the process of rank 1 was ended by SIGKILL"]),
        (HANGS, ["the process of rank 1 did not end by itself and was killed"]),
    ],
)
def test_those_that_do_not_end_well_are_told(monkeypatch, program, lines):
    def start(self, rank):
        del self, rank
        return subprocess.Popen([sys.executable, "-c", program])

    monkeypatch.setattr(Followers, "_start", start)
    if program == HANGS:
        monkeypatch.setattr("utils.distributed.launcher._END_SECONDS", 0.0)
    followers = Followers(2)
    followers.close()
    assert followers.late_failures() == lines
    assert not followers.store.parent.exists()
