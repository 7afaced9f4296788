"""Keys that act at once, without Enter, while the program works."""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from utils.keyboard.terminal_mode import KeyMode

_BACKGROUND_MILLISECONDS = 500
"""How often a program in the background looks whether it came to the foreground."""
_DEBUGGER_EVENTS = ("builtins.breakpoint", "pdb.Pdb")
_CHUNK_BYTES = 256


def has_keyboard() -> bool:
    """Say whether a person at a terminal can press keys for this program.

    Input and output must be a terminal, so that pipes, CI and `nohup` are left alone, and this
    must be the main thread, because Ctrl-Z has to be handled there.
    """
    streams = (sys.stdin, sys.stdout)
    try:
        are_terminals = all(stream is not None and stream.isatty() for stream in streams)
    except ValueError:  # a closed stream
        return False
    return are_terminals and threading.current_thread() is threading.main_thread()


class Keyboard:
    r"""Call a function for each key that is pressed, from a thread that sleeps otherwise.

    While it is open the terminal shows no typed letters and hands them out at once; Ctrl-C, Ctrl-Z
    and Ctrl-\ do what they always do. The terminal is as it was after `close`, at the end of the
    program and while it is stopped by Ctrl-Z. A program in the background reads nothing, and
    begins when it comes to the foreground. It closes when a debugger is called (`breakpoint()`,
    pdb), which wants the keys itself.
    """

    def __init__(self, *, on_return: Callable[[], None] = lambda: None) -> None:
        """Prepare; nothing is touched before `open`.

        Args:
            on_return: Called in the main thread when the program goes on after Ctrl-Z: what is on
                the screen is not what it has drawn.
        """
        self._on_return = on_return
        self._on_key: Callable[[str], None] = lambda _: None
        self._mode: KeyMode | None = None
        self._thread: threading.Thread | None = None
        self._wake = -1
        self._process = -1
        self._previous_stop: Any = None
        self._is_audited = False

    @property
    def is_open(self) -> bool:
        """Whether keys are read."""
        return self._mode is not None

    def open(self, on_key: Callable[[str], None]) -> None:
        """Begin to read keys of standard input; call it in the main thread.

        Args:
            on_key: Called with one character, in another thread.
        """
        assert self._mode is None, "it is open"
        self._on_key = on_key
        self._process = os.getpid()
        self._mode = KeyMode(sys.stdin.fileno())
        self._previous_stop = signal.signal(signal.SIGTSTP, self._leave_for_shell)
        atexit.register(self.close)
        if not self._is_audited:
            sys.addaudithook(self._make_way_for_debugger)  # stays until the program ends
            self._is_audited = True
        self._mode.enter()
        woken, self._wake = os.pipe()
        self._thread = threading.Thread(
            target=self._listen, args=(self._mode, woken), name="keyboard", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Give the terminal back; a second call does nothing."""
        mode, self._mode = self._mode, None
        if mode is None or os.getpid() != self._process:
            return
        mode.leave()
        os.close(self._wake)
        atexit.unregister(self.close)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTSTP, self._previous_stop)
        if self._thread is not threading.current_thread() and self._thread is not None:
            self._thread.join(timeout=1.0)

    def _listen(self, mode: KeyMode, woken: int) -> None:
        # Signals are for the main thread; and a read from the background fails then, instead of
        # stopping the program.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while self._mode is mode:
                if not mode.is_entered:
                    mode.enter()
                watched = [woken, mode.descriptor] if mode.is_entered else [woken]
                ready = _wait_for(watched, None if mode.is_entered else _BACKGROUND_MILLISECONDS)
                if woken in ready:
                    return
                if ready:
                    self._read(mode)
        finally:
            os.close(woken)

    def _read(self, mode: KeyMode) -> None:
        if not mode.is_in_foreground():
            mode.forget()
            return
        try:
            typed = os.read(mode.descriptor, _CHUNK_BYTES).decode(errors="replace")
        except OSError:
            mode.forget()
            return
        # Several different characters at once are pasted text or the code of a function key.
        if len(set(typed)) == 1 and typed.isprintable():
            self._on_key(typed[0])
        elif not typed:  # the terminal is gone
            mode.forget()

    def _make_way_for_debugger(self, event: str, arguments: tuple[Any, ...]) -> None:
        del arguments
        if event in _DEBUGGER_EVENTS:
            self.close()

    def _leave_for_shell(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal to the shell, stop as Ctrl-Z says, and take it back afterwards."""
        del frame
        mode = self._mode if os.getpid() == self._process else None
        if mode is not None:
            mode.leave()
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_kill(threading.get_ident(), number)  # stops here until SIGCONT
        signal.signal(number, self._leave_for_shell)
        if mode is not None and self._mode is mode:
            mode.enter()
            self._on_return()


def _wait_for(descriptors: list[int], milliseconds: int | None) -> list[int]:
    """Return those that have something to read, or whose other end is gone."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(milliseconds)]
