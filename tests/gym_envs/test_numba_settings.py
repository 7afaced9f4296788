"""Where compiled code is kept, and that a wait for the compiler is announced once."""

import ast
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
    kernel = tmp_path / "gym_envs" / "simd" / "kernel.py"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("A = 1\n")
    first = source_fingerprint(tmp_path)
    assert source_fingerprint(tmp_path) == first
    kernel.write_text("A = 2\n")
    second = source_fingerprint(tmp_path)
    assert second != first
    environment = tmp_path / "gym_envs" / "example_env" / "env.py"
    environment.parent.mkdir()
    environment.write_text("A = 1\n")  # nothing that is compiled is made of it
    assert source_fingerprint(tmp_path) == second


def test_all_that_compiled_functions_of_environments_are_made_of_is_in_the_fingerprint():
    covered = {path for pattern in numba_settings._COMPILED_SOURCES for path in ROOT.glob(pattern)}
    found = [
        path
        for path in (ROOT / "gym_envs").rglob("*.py")
        if "import njit" in path.read_text() or path.parent.name == "physics"
    ]
    assert len(found) > 5
    reached = set()
    while found:
        path = found.pop()
        if path not in reached:
            reached.add(path)
            found += _imported_modules(path)
    packages = {path for path in reached if path.name == "__init__.py"}
    assert reached - packages <= covered


def _imported_modules(path):
    """Return the files of `gym_envs` that a module imports from."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gym_envs"):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("gym_envs")}
    files = [ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in names]
    return [file for file in files if file.is_file()]


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


def test_who_compiles_computes_what_those_compute_who_find_it_compiled(tmp_path):
    """To the last bit: or the first run on a machine could be neither repeated nor resumed."""
    program = "from tests.helpers.compiled_terms import fingerprint; print(fingerprint())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    )
    assert "compiling" in first.stderr
    assert "compiling" not in second.stderr
    assert first.stdout == second.stdout
