"""The monitor beside a real training, in tmux: it comes, goes and is killed; training goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.helpers.commands import ROOT, Command, only_run, rows, small
from utils.run.control import AnswerReader

pytest.importorskip("textual")
pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

ENDLESS = {
    "max_timesteps": 10**8,
    "eval_warmup_epochs": None,
    "eval_freq_epochs": 50,
    "checkpoint_freq_epochs": 200,
    "early_stop_on_eval_reward": "false",
    "keep_checkpoints": 3,
}


class Tmux:
    """A terminal that programs start in, one after the other."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._call("new-session", "-d", "-x", "100", "-y", "30", "sh")
        self._call("set-option", "-g", "remain-on-exit", "on")

    def start(self, *argv: str) -> int:
        """Start a program in place of the last one; return its process id."""
        self._call("respawn-pane", "-k", "-c", str(ROOT), " ".join(argv))
        return int(self._call("display-message", "-p", "#{pane_pid}"))

    def press(self, *keys: str) -> None:
        self._call("send-keys", *keys)

    def screen(self) -> str:
        return self._call("capture-pane", "-p")

    def expect(self, text: str, *, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.screen():
            assert time.monotonic() < deadline, f"no {text!r} in\n{self.screen()}"
            time.sleep(0.05)

    def wait_for_end(self, *, seconds: float = 90.0) -> None:
        """Wait until the program has ended, whatever its end."""
        deadline = time.monotonic() + seconds
        while self._call("display-message", "-p", "#{pane_dead}").strip() != "1":
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.05)

    def close(self) -> None:
        self._call("kill-server")

    def _call(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", os.devnull, *arguments]
        environment = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}
        finished = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=90, check=True
        )
        return finished.stdout


@pytest.fixture
def tmux(tmp_path_factory):
    # A socket's path may only be short.
    terminal = Tmux(str(tmp_path_factory.mktemp("t") / "s"))
    yield terminal
    terminal.close()


def wait_for_epoch(runs_dir, epoch, *, seconds=180.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if any(path.stat().st_size for path in runs_dir.glob("*/metrics.jsonl")):
            run = only_run(runs_dir)
            if run.metrics_jsonl.read_bytes().count(b"\n") >= epoch:
                return run
        time.sleep(0.02)
    raise AssertionError(f"no epoch {epoch} in {seconds} s")


def test_training_goes_on_with_the_same_numbers_whatever_befalls_the_monitor(tmp_path, tmux):
    alone, watched = tmp_path / "alone", tmp_path / "watched"
    trainings = [
        Command("train", "-q", "--runs-dir", str(path), *small(**ENDLESS))
        for path in (alone, watched)
    ]
    monitor = (sys.executable, "scripts/monitor.py", "--runs-dir", str(watched))
    run = wait_for_epoch(watched, 3)

    tmux.start(*monitor)
    tmux.expect("CartPole-v1:ppo  running")
    tmux.expect("train/roll/ep_rew_mean")
    tmux.press("q")
    tmux.wait_for_end()
    assert run.read_status()["status"] == "running"

    process = tmux.start(*monitor)
    tmux.expect("CartPole-v1:ppo  running")
    os.kill(process, signal.SIGKILL)
    tmux.wait_for_end()
    wait_for_epoch(watched, len(rows(run)) + 5)
    assert run.read_status()["status"] == "running"

    tmux.start(*monitor)
    tmux.expect("CartPole-v1:ppo  running")
    tmux.press("s")
    tmux.expect("save: ✓ saved epoch=")
    tmux.press("x")
    tmux.expect("Stop training CartPole-v1:ppo after this epoch?")
    tmux.press("y")
    tmux.expect("stop: ✓ stopping: epoch")
    tmux.expect("CartPole-v1:ppo  interrupted")
    tmux.press("q")
    tmux.wait_for_end()

    finished = trainings[1].wait()
    assert finished.code == 130
    assert "go on with: python train.py --resume" in finished.err
    texts = [answer.text for answer in AnswerReader(run).read()]
    assert [text.split()[0] for text in texts] == ["saved", "stopping:"]

    seen = rows(run)
    wait_for_epoch(alone, len(seen))
    trainings[0].send(signal.SIGTERM)
    trainings[0].wait()
    assert rows(only_run(alone))[: len(seen)] == seen
