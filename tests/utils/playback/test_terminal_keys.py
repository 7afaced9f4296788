import os
import pty
import termios
import threading
import time

import pytest

from tests.helpers.displays import FakeClock
from utils.playback.terminal_keys import TerminalKeys, name_keys


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("A+", ["a", "+"]),
        ("\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        ("\x1bOA", ["up"]),
        ("\x1b", ["escape"]),
        ("\t\r \x7f\x08", ["tab", "enter", "space", "backspace", "backspace"]),
        ("\x1b[15~\x1b[1;5Cx", ["x"]),  # a function key, a key with a modifier
        ("\x01é", ["é"]),
    ],
)
def test_names(text, names):
    assert name_keys(text) == names


@pytest.fixture
def terminal():
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_keys_arrive_one_by_one_without_an_echo_and_the_terminal_is_as_it_was(terminal):
    ours, theirs = terminal
    before = termios.tcgetattr(theirs)
    keys = TerminalKeys(theirs)
    keys.start()
    os.write(ours, b"x\x1b[D")
    assert keys.read(1.0) == ["x", "left"]
    assert keys.read(0.0) == []
    assert not termios.tcgetattr(theirs)[3] & (termios.ECHO | termios.ICANON)
    assert termios.tcgetattr(theirs)[3] & termios.ISIG  # Ctrl-C still interrupts
    keys.stop()
    keys.stop()
    assert termios.tcgetattr(theirs) == before


def test_reading_waits_only_until_a_key(terminal):
    ours, theirs = terminal
    keys = TerminalKeys(theirs)
    keys.start()
    timer = threading.Timer(0.05, os.write, (ours, b"n"))
    timer.start()
    started = time.monotonic()
    assert keys.read(300.0) == ["n"]
    assert time.monotonic() - started < 60
    timer.join()
    keys.stop()


def test_an_arrow_that_arrives_in_pieces_is_no_escape(terminal):
    ours, theirs = terminal
    keys = TerminalKeys(theirs)
    keys.start()
    timer = threading.Timer(0.005, os.write, (ours, b"[A"))
    os.write(ours, b"\x1b")
    timer.start()
    assert keys.read(1.0) == ["up"]
    timer.join()
    keys.stop()


def test_a_key_counts_as_held_for_a_while(terminal):
    ours, theirs = terminal
    clock = FakeClock()
    keys = TerminalKeys(theirs, clock=clock)
    keys.start()
    os.write(ours, b"a")
    keys.read(1.0)
    clock.now = 0.3  # the first repeat of a terminal comes late
    assert keys.held() == ("a",)
    os.write(ours, b"a")
    keys.read(1.0)
    clock.now = 0.4
    assert keys.held() == ("a",)
    clock.now = 0.45
    assert keys.held() == ()
    keys.stop()
