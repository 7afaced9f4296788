"""A policy that was trained on many problems regrets less on fresh ones than UCB1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> str:
    """Run a script of the project; return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_exploration_is_learnt(tmp_path: Path) -> None:
    runs = ("--runs-dir", str(tmp_path))
    run("train.py", "Bandit-Contextual-v0:ppo", "--seed", "21", "--set", "video=none", "-q", *runs)
    (results,) = tmp_path.glob("*/results.json")
    metrics = json.loads(results.read_text())["test"]["last"]["metrics"]
    printed = run("scripts/judge_bandits.py", "--run", "@last", "--episodes", "500", *runs)
    rows = [line.rsplit(maxsplit=3) for line in printed.splitlines()[3:]]
    regret = {name: float(value) for name, value, *_ in rows}
    # on the same 500 problems; by chance 50 are lost
    assert regret["Bandit-Contextual-v0:ppo"] < regret["UCB1"] < regret["random"]
    assert metrics["regret"] < regret["UCB1"]
