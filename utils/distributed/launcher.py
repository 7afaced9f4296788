"""The leader starts the other processes of this machine, and nobody outlives it."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from utils.config import Config
from utils.distributed.ranks import STORE_FILE, Ranks, check_ranks

_PR_SET_PDEATHSIG = 1
_ROOT = Path(__file__).resolve().parents[2]
_END_SECONDS = 30.0
"""How long the others may take to end by themselves once the leader is through."""


class Followers:
    """The processes of ranks 1 and up on this machine, children of the leader."""

    def __init__(self, size: int) -> None:
        """Start them; they wait for the leader before they do anything.

        Args:
            size: Processes with the leader, >= 2.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="gym-solver-ranks-"))
        self._variables = {
            STORE_FILE: str(self._folder / "store"),
            "WORLD_SIZE": str(size),
            "LOCAL_WORLD_SIZE": str(size),
        }
        self._size = size
        self._overdue: list[int] = []
        """Ranks that did not end by themselves."""
        self._processes = [self._start(rank) for rank in range(1, size)]

    @property
    def leader(self) -> Ranks:
        """Who this process is among them."""
        return Ranks(0, self._size, 0, self._size, "train.py")

    @property
    def store(self) -> Path:
        """File through which they find each other."""
        return self._folder / "store"

    @classmethod
    def of_config(cls, config: Config, ranks: Ranks | None) -> Followers | None:
        """Start what a config asks for where no launcher has; None where nothing is to start.

        Raises:
            ConfigError: The config asks for other processes than a launcher has started, or for
                those of several machines.
        """
        check_ranks(ranks, devices=config.devices, num_nodes=config.num_nodes)
        return cls(config.devices) if ranks is None and config.devices > 1 else None

    def first_end(self) -> tuple[int, int] | None:
        """Return rank and exit code of one that has ended by a failure; None while none has."""
        for rank, process in enumerate(self._processes, start=1):
            code = process.poll()
            if code:
                return rank, code
        return None

    def close(self) -> None:
        """Let them end by themselves for a while, then end what is left; nothing of them stays."""
        deadline = time.monotonic() + (_END_SECONDS if sys.exc_info()[0] is None else 1.0)
        for rank, process in enumerate(self._processes, start=1):
            try:
                process.wait(max(0.05, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self._overdue.append(rank)
        self._remove_folder()

    def late_failures(self) -> list[str]:
        """Say which of them did not end well, once they are closed, one line each."""
        lines = []
        for rank, process in enumerate(self._processes, start=1):
            if rank in self._overdue:
                lines.append(f"the process of rank {rank} did not end by itself and was killed")
            elif process.returncode:
                lines.append(describe_end(rank, process.returncode))
        return lines

    def abandon(self) -> None:
        """End them at once, whatever they wait for: the leader is about to end itself."""
        for process in self._processes:
            process.kill()
        self._remove_folder()

    def _remove_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, rank: int) -> subprocess.Popen[bytes]:
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        return subprocess.Popen(
            [sys.executable, str(_ROOT / "train.py")],
            env={**os.environ, **self._variables, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=_end_with_leader,
        )


def describe_end(rank: int, code: int) -> str:
    """Say how a process ended.

    Args:
        rank: Its rank.
        code: Its exit code, which is negative for a signal and not 0.
    """
    if code < 0:
        return f"the process of rank {rank} was ended by {signal.Signals(-code).name}"
    return f"the process of rank {rank} has failed with exit code {code}"


def _end_with_leader() -> None:
    """Let the system end this process when the leader dies, even by kill -9 (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
