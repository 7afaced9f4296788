import os
import subprocess
import sys

import pytest

from tests.helpers.commands import ROOT
from tests.helpers.watched_run import WatchedRun
from utils.errors import ConfigError, MissingDependencyError, RunNotFoundError
from utils.monitoring.cli import main


def test_once_prints_the_newest_run_as_plain_text(tmp_path, capsys):
    WatchedRun(tmp_path, "A-v0:ppo").rows(2)
    WatchedRun(tmp_path, "B-v0:ppo").rows(3)
    assert main(["--once", "--runs-dir", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("B-v0:ppo ")
    assert "\x1b" not in text
    assert "train/roll/ep_rew_mean" in text


def test_once_takes_any_name_of_a_run(tmp_path, capsys):
    watched = WatchedRun(tmp_path, "A-v0:ppo")
    WatchedRun(tmp_path, "B-v0:ppo")
    for name in (watched.run.id, str(watched.run.path)):
        assert main(["--once", "--runs-dir", str(tmp_path), "--run-id", name]) == 0
        assert capsys.readouterr().out.startswith("A-v0:ppo ")


def test_a_run_that_does_not_exist(tmp_path):
    with pytest.raises(RunNotFoundError, match="there is no run in"):
        main(["--once", "--runs-dir", str(tmp_path)])


def test_without_a_terminal_it_says_what_to_do(tmp_path):
    WatchedRun(tmp_path)
    with pytest.raises(ConfigError, match="needs a terminal; --once"):
        main(["--runs-dir", str(tmp_path)])


def test_without_textual_it_names_the_extra(tmp_path, monkeypatch):
    WatchedRun(tmp_path)
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    for name in [name for name in sys.modules if name.startswith("utils.monitoring.app")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setitem(sys.modules, "textual.app", None)
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[monitor\]"):
        main(["--runs-dir", str(tmp_path)])


def test_once_needs_nothing_heavy_and_survives_a_closed_pipe(tmp_path):
    WatchedRun(tmp_path).rows(3)
    for name in ("textual", "rich", "torch", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name} was imported')")
    command = f"{sys.executable} scripts/monitor.py --once --runs-dir {tmp_path} | head -1"
    finished = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert finished.stdout.startswith("Fake-v0:ppo")
    assert finished.stderr == ""
