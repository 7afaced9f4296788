"""A program in a terminal of its own: keys go in, what it shows comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class TerminalSession:
    """Runs a program in a new terminal; use it in a `with` statement."""

    def __init__(self, *argv: str, columns: int = 100, rows: int = 30, **environ: str) -> None:
        """Start the program.

        Args:
            argv: The program and its arguments.
            columns: Width of the terminal.
            rows: Its height.
            environ: Variables that differ.
        """
        self.seen = ""
        self._searched = 0
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            variables = os.environ | {"TERM": "xterm-256color", "PS1": "ready> "} | environ
            os.execvpe(argv[0], argv, variables)

    def __enter__(self) -> TerminalSession:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.terminal, text.encode())

    def expect(self, pattern: str, *, seconds: float = 120.0) -> re.Match[str]:
        """Wait until the program shows something new that fits; colours count as nothing."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.compile(pattern, re.MULTILINE).search(self.seen, self._searched)
            if found is not None:
                self._searched = found.end()
                return found
            if not self._read(max(0.0, deadline - time.monotonic())):
                new = self.seen[self._searched :]
                raise AssertionError(f"no {pattern!r} after {seconds} s in {new[-3000:]!r}")

    def read_for(self, seconds: float) -> str:
        """Return what the program shows in a time."""
        start, deadline = len(self.seen), time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)
        return self.seen[start:]

    def wait_until_read(self, *, seconds: float = 120.0) -> None:
        """Wait until the program has taken every key that was pressed."""
        self.read_for(0.2)  # the kernel hands them over a little later
        deadline = time.monotonic() + seconds
        end_of_program = os.open(f"/proc/{self.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
        try:
            while struct.unpack("i", fcntl.ioctl(end_of_program, termios.FIONREAD, b"\0" * 4))[0]:
                assert time.monotonic() < deadline, f"keys unread after {seconds} s"
                self._read(0.01)
        finally:
            os.close(end_of_program)

    def wait_for_keys_at_once(self, *, seconds: float = 120.0) -> None:
        """Wait until the program takes each key as it is pressed, unseen."""
        deadline = time.monotonic() + seconds
        while self.local_flags() & (termios.ECHO | termios.ICANON):
            assert time.monotonic() < deadline, f"still whole lines after {seconds} s"
            self._read(0.01)

    def local_flags(self) -> int:
        """Return the local flags of the terminal as they are now."""
        return int(termios.tcgetattr(self.terminal)[3])

    def is_plain(self) -> bool:
        """Say whether the terminal echoes and hands out whole lines."""
        both = termios.ECHO | termios.ICANON
        return self.local_flags() & both == both

    def wait(self, *, seconds: float = 120.0) -> int:
        """Wait for the end of the program; return its exit code."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read(0.05)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                while self._read(0.0):
                    pass
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"no end after {seconds} s: {self.seen[-3000:]!r}")

    def _read(self, patience: float) -> bool:
        if not select.select([self.terminal], [], [], patience)[0]:
            return False
        try:
            content = os.read(self.terminal, 65536)
        except OSError:  # the program has closed its end
            time.sleep(min(0.05, patience))
            return False
        text = content.decode(errors="replace").replace("\r", "")
        self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", text)
        return bool(content)
