from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from utils.vector_envs import is_debugger_attached

ROOT = Path(__file__).resolve().parents[3]


def test_no_debugger_in_a_plain_process() -> None:
    code = "from utils.vector_envs import is_debugger_attached; print(is_debugger_attached())"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"


def test_pdb_is_a_debugger(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from utils.vector_envs import is_debugger_attached\n"
        "print('seen', is_debugger_attached())\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "pdb", "-c", "next", "-c", "next", "-c", "quit", str(script)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert "seen True" in result.stdout, result


def test_a_trace_function_is_a_debugger() -> None:
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        assert is_debugger_attached()
    finally:
        sys.settrace(before)


def test_coverage_is_not_a_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    def tracer(*_: object) -> None:
        return None

    tracer.__module__ = "coverage.pytracer"
    monkeypatch.setattr(sys, "gettrace", lambda: tracer)
    monkeypatch.setattr(sys, "monitoring", None, raising=False)
    assert not is_debugger_attached()
