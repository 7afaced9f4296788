"""Keys in a real terminal, and the terminal afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.helpers.commands import ROOT
from tests.helpers.terminal_session import TerminalSession

PROGRAM = """
import os, signal, sys, threading, time
from utils.keyboard import Keyboard, has_keyboard

def say(text):
    os.write(1, f"{text}\\n".encode())  # in one piece, whichever thread it comes from

say(f"has keyboard {has_keyboard()}")
keyboard = Keyboard(on_return=lambda: say("returned"))
stop = threading.Event()

def on_key(key):
    say(f"key {key}")
    if key == "q":
        stop.set()

keyboard.open(on_key)
say(f"open {keyboard.is_open}")
BODY
keyboard.close()
keyboard.close()
say(f"closed {signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL}")
"""
WAIT = "while not stop.wait(0.02): pass"


@pytest.fixture
def program(tmp_path):
    """Write a program that reads keys; return the path of what `body` makes of it."""

    def write(body: str = WAIT) -> str:
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.replace("BODY", body))
        return str(path)

    return write


def start(path: str) -> TerminalSession:
    return TerminalSession(sys.executable, path, PYTHONPATH=str(ROOT))


def shell() -> TerminalSession:
    return TerminalSession("bash", "--norc", "--noprofile", "-i", PYTHONPATH=str(ROOT))


def test_keys_act_at_once_and_unseen(program):
    with start(program()) as session:
        session.expect("has keyboard True")
        session.expect("open True")
        assert not session.is_plain()
        session.type("s")
        session.expect("^key s$")
        session.type("E")
        session.expect("^key E$")
        session.type("qq")
        session.expect("^key q$")
        session.expect("^closed True$")
        assert session.wait() == 0
        assert session.is_plain()
    assert "\ns" not in session.seen, "the key itself was shown"


def test_function_keys_and_pasted_text_are_no_keys(program):
    with start(program()) as session:
        session.expect("open True")
        session.type("\x1bOS")  # F4
        session.type("\x1b[1;2S")
        session.wait_until_read()
        session.type("quick fox\n")
        session.wait_until_read()
        session.type("\x04")
        session.wait_until_read()
        session.type("q")
        session.expect("^key ")
        session.expect("^closed")
    assert session.seen.count("key ") == 1


@pytest.mark.parametrize(
    "body",
    ["raise RuntimeError('boom')", "raise SystemExit(3)", "raise KeyboardInterrupt"],
)
def test_a_crash_gives_the_terminal_back(program, body):
    with start(program(body)) as session:
        session.expect("open True")
        assert session.wait() != 0
        assert session.is_plain()


def test_ctrl_c_is_a_signal_as_ever(program):
    with start(program()) as session:
        session.expect("open True")
        session.type("\x03")
        session.expect("KeyboardInterrupt")
        session.wait()
        assert session.is_plain()


def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back(program):
    with shell() as session:
        session.expect("ready> ")
        session.type(f"{sys.executable} {program()}\n")
        session.expect("open True")
        session.type("\x1a")
        session.expect("Stopped")
        session.expect("ready> ")
        session.type("stty -a\n")
        session.expect(r"[^-]icanon")
        session.expect(r"[^-]echo ")
        session.expect("ready> ")
        session.type("fg\n")
        session.expect("^returned")
        session.type("s")
        session.expect("^key s$")
        session.type("q")
        session.expect("^closed True$")
        session.expect("ready> ")
        session.type("stty -a\n")
        session.expect(r"[^-]icanon")
        session.expect(r"[^-]echo ")


def test_a_program_in_the_background_leaves_the_shell_its_keys(program):
    with shell() as session:
        session.expect("ready> ")
        session.type(f"{sys.executable} {program()} &\n")
        session.expect("open True")
        session.type("echo $((3 * 14))\n")
        session.expect("^42$")
        session.type("echo $((5 * 11))\n")
        session.expect("^55$")
        session.type("fg\n")
        session.expect("program.py")
        session.wait_for_keys_at_once()
        session.type("q")
        session.expect("^key q$")
        session.expect("^closed True$")
        session.type("stty -a\n")
        session.expect(r"[^-]icanon")
    assert session.seen.count("key ") == 1


def test_killing_it_leaves_a_shell_that_can_be_used(program):
    with shell() as session:
        session.expect("ready> ")
        session.type(f"{sys.executable} {program('os.kill(os.getpid(), signal.SIGKILL)')}\n")
        session.expect("Killed")
        session.type("stty -a\n")
        session.expect(r"[^-]icanon")
        session.expect(r"[^-]echo ")


@pytest.mark.parametrize("call", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_debugger_gets_what_is_typed(program, call):
    with start(program(f"{call}\nprint('after', sys.stdin.readline(), flush=True)")) as session:
        session.expect(r"\(Pdb\) ")
        session.type("p 6 * 7\n")
        session.expect("42\n")
        session.type("c\n")
        time.sleep(0.2)
        assert session.is_plain()
        session.type("said\n")
        session.expect("^after said$")
        session.wait()
    assert "key " not in session.seen


def test_there_is_no_keyboard_without_a_terminal():
    for options in ({"stdin": subprocess.DEVNULL}, {"stdout": subprocess.PIPE}):
        reader, terminal = os.openpty()
        standard = {"stdin": terminal, "stdout": terminal, "stderr": terminal} | options
        text = "from utils.keyboard import has_keyboard; import sys; sys.exit(has_keyboard())"
        finished = subprocess.run(
            [sys.executable, "-c", text], cwd=ROOT, check=False, timeout=120, **standard
        )
        os.close(reader)
        os.close(terminal)
        assert finished.returncode == 0


def test_a_process_forked_from_it_does_not_touch_the_terminal(program):
    body = """
pid = os.fork()
if pid == 0:
    keyboard.close()
    os._exit(0)
os.waitpid(pid, 0)
while not stop.wait(0.02): pass
"""
    with start(program(body)) as session:
        session.expect("open True")
        time.sleep(0.2)
        assert not session.is_plain()
        session.type("q")
        session.expect("^key q$")
        session.wait()
