"""Where compiled code is kept, and that a wait for the compiler is announced once."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numba

from gym_envs import numba_settings
from gym_envs.numba_settings import choose_cache_folder, source_fingerprint

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys, types
from gym_envs.numba_settings import njit
module = types.ModuleType("gym_envs.example")
def double(x):
    return x + x
double.__module__ = "gym_envs.example"
double = njit(double)
print(double(1), double(1.0))
"""


def test_other_sources_have_another_folder(tmp_path):
    (tmp_path / "gym_envs").mkdir()
    kernel = tmp_path / "gym_envs" / "kernel.py"
    kernel.write_text("A = 1\n")
    first = source_fingerprint(tmp_path)
    assert source_fingerprint(tmp_path) == first
    kernel.write_text("A = 2\n")
    assert source_fingerprint(tmp_path) != first


def test_folders_that_nobody_uses_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = choose_cache_folder()
    assert folder.is_dir()
    assert folder.is_relative_to(tmp_path)
    old, recent = folder.parent / "old", folder.parent / "recent"
    old.mkdir()
    recent.mkdir()
    month_ago = time.time() - 31 * 24 * 3600
    os.utime(old, (month_ago, month_ago))
    os.utime(folder, (month_ago, month_ago))  # in use: choosing it again marks it
    assert choose_cache_folder() == folder
    assert sorted(path.name for path in folder.parent.iterdir()) == sorted([folder.name, "recent"])


def test_an_unwritable_home_is_no_obstacle(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(numba_settings.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    folder = choose_cache_folder()
    assert folder.is_relative_to(tmp_path / "temporary")


def test_the_widest_registers_are_allowed():
    if numba_settings.HAS_AVX512 and "NUMBA_CPU_FEATURES" not in os.environ:
        assert numba.config.CPU_FEATURES.endswith("-prefer-256-bit")


def test_compiling_is_announced_once():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", "2.0"]
    assert done.stderr.count("compiling for this machine") == 1, done.stderr


def test_a_folder_that_a_person_chose_holds_code_by_its_sources_too(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = choose_cache_folder()
    assert folder.is_relative_to(tmp_path)
    assert folder.name == source_fingerprint()
