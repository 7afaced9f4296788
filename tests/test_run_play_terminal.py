"""run_play.py in a terminal of its own, steered by keys."""

import os
import signal
import time
from pathlib import Path

import av
import pytest

from tests.helpers.played_runs import make_config, make_run
from tests.helpers.terminal_process import TerminalProcess
from tests.test_run_play import state_of
from utils.loggers.terminal import strip_colours

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


@pytest.fixture
def terminal(tmp_path):
    """Start run_play.py on a run whose environment counts to `length`."""
    opened = []

    def start(*arguments, length=5):
        config = make_config(
            env_kwargs={"length": length},
            max_episode_steps=10_000,
            spec={"action": {"labels": ["push left", "push right"]}},
        )
        make_run(tmp_path, config, states=[state_of(config)])
        opened.append(TerminalProcess("run_play", "--runs-dir", str(tmp_path), *arguments))
        return opened[-1]

    yield start
    for process in opened:
        process.__exit__()


def test_a_person_plays_in_the_terminal_and_is_recorded(terminal, tmp_path):
    target = tmp_path / "game.mp4"
    process = terminal("--human", "--episodes", "1", "--seed", "4", "--record", str(target))
    process.wait_for("esc quit")
    assert "policy: push " in strip_colours(process.output)
    for k in range(4):
        process.press("\x1b[D" if k % 2 else "d")
        process.wait_for(f"step {k + 1}")
    process.press("\t")  # the policy takes the last step
    process.wait_for("it is over: return 5.00")
    process.press("\r")
    assert process.wait() == 0
    after = process.output.split(LEAVE)[1]
    row = next(line for line in after.splitlines() if line.split()[:2] == ["1", "4"])
    assert row.split()[2:4] == ["5.00", "5.00"]
    assert "terminated after 5 steps, 1 of them the policy's" in row
    assert process.settings() == process.settings_before
    with av.open(str(target)) as container:
        assert len(list(container.decode(video=0))) == 6


def test_a_watcher_steers_and_leaves(terminal):
    process = terminal("--render", "terminal", length=9000)
    process.wait_for("step 3")
    process.press(" ")
    process.wait_for("paused")
    process.press("n")
    process.wait_for("paused")
    shown = strip_colours(process.output).rsplit("step ", 1)[1].split()[0]
    process.press("n")
    process.wait_for(f"step {int(shown) + 1}  ")
    process.press(" ")
    process.press("++")
    process.wait_for("4x")
    process.press("q")
    assert process.wait() == 0
    assert "stopped after 0 of 5 episodes" in process.output.split(LEAVE)[1]
    assert process.settings() == process.settings_before


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_signal_gives_the_terminal_back(terminal, number, code):
    process = terminal("--render", "terminal", "--grid", "4", length=9000)
    process.wait_for("4 of 4 running")
    if number == signal.SIGINT:
        process.press("\x03")  # Ctrl-C in the terminal itself
    else:
        os.kill(process.pid, number)
    assert process.wait() == code
    assert process.output.count(ENTER) == process.output.count(LEAVE) == 1
    assert "Traceback" not in process.output
    assert process.settings() == process.settings_before


def test_who_is_stopped_leaves_the_terminal_and_comes_back_to_it(terminal):
    process = terminal("--render", "terminal", length=9000)
    process.wait_for("step 3")
    pid = process.pid
    os.kill(pid, signal.SIGTSTP)
    process.wait_for(LEAVE)
    assert process.settings() == process.settings_before
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(pid, signal.SIGCONT)
    process.wait_for(ENTER)
    process.wait_for("step ")
    process.press("q")
    assert process.wait() == 0
    assert process.settings() == process.settings_before
