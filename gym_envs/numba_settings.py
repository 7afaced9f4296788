"""numba, set up: modules with compiled functions take `njit` from here and never from numba.

Four things must be settled before numba compiles or loads anything: which registers it may use,
where compiled code is kept, whose copy of a helper a function calls, and that a person who waits
for a compiler is told so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
import time
from pathlib import Path

import llvmlite.binding
import numba
from numba import njit
from numba.core import codegen, event
from numba.extending import intrinsic

from gym_envs.compile_notice import say_compiling

__all__ = ["FAST_MATH", "HAS_AVX512", "intrinsic", "njit"]

FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}
"""Freedoms of LLVM that keep NaN and infinity what they are: sums may be reordered and fused."""

_ROOT = Path(__file__).resolve().parents[1]
_COMPILED_SOURCES = (
    "gym_envs/compile_notice.py",
    "gym_envs/numba_settings.py",
    "gym_envs/physics/*.py",
    "gym_envs/simd/*.py",
    "gym_envs/ccas_ccar/kernel.py",
    "gym_envs/ccas_ccar/task.py",
    "utils/buffers/*_kernels.py",
    "utils/compiled/**/*.py",
    "utils/returns/standardize.py",  # its tolerance is a constant of compiled code
    "agents/**/*compiled*.py",
)
_KEEP_UNUSED_SECONDS = 30 * 24 * 3600.0

_host = dict(llvmlite.binding.get_host_cpu_features())
HAS_AVX512 = platform.machine() in ("x86_64", "AMD64") and bool(_host.get("avx512f"))
"""Whether vectors of 16 float32 fit one register."""


class _CompileNotice(event.Listener):
    """Says once for each process that one of our functions is being compiled."""

    def __init__(self) -> None:
        self._has_spoken = False

    def on_start(self, started: event.Event) -> None:
        """Speak before the first compilation; code that is loaded from disk starts none."""
        module = started.data["dispatcher"].py_func.__module__
        if self._has_spoken or module.split(".")[0] not in ("gym_envs", "utils", "agents"):
            return
        self._has_spoken = True
        say_compiling(
            "(some 20 s, more where it is busy; once for each kind of environment and agent: later "
            f"starts load the result from {numba.config.CACHE_DIR})"
        )

    def on_end(self, ended: event.Event) -> None:
        """Needed by the listener's interface."""


def source_fingerprint(root: Path = _ROOT) -> str:
    """Return a short hash of every source file that compiled code is made of, and of versions.

    numba itself compares only the file that holds a function, not those that it calls into: with
    the hash in the folder's name, code compiled from other sources is never found.
    """
    digest = hashlib.sha256(f"{numba.__version__} {platform.python_version()}".encode())
    for pattern in _COMPILED_SOURCES:
        for path in sorted(root.glob(pattern)):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def choose_cache_folder() -> Path:
    """Return the writable folder for code compiled from the present sources; it exists then.

    It lies below `NUMBA_CACHE_DIR`, if a person has set that, or below the user's cache folder.
    """
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = f"gymnasium-solver-{os.getuid()}" if hasattr(os, "getuid") else "gymnasium-solver"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    parents = (user_cache / "gymnasium-solver", Path(tempfile.gettempdir()) / name)
    for parent in (Path(chosen),) if chosen else parents:
        folder = parent / "compiled" / source_fingerprint()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.utime(folder)  # marks it as used; fails where the folder is somebody else's
        except OSError:
            continue
        _remove_unused(folder.parent)
        return folder
    raise OSError("no writable folder for compiled code: set NUMBA_CACHE_DIR to one")


def _remove_unused(parent: Path) -> None:
    """Remove folders of sources that nobody has run for a month."""
    oldest = time.time() - _KEEP_UNUSED_SECONDS
    for folder in parent.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process may be removing it, too
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _call_own_copies() -> None:
    """Have each compiled function call the copies of helpers that were compiled into it.

    numba compiles helpers into their caller as symbols of which any definition will do. A process
    that compiles has loaded each helper by itself, too, and its callers are given that one; a
    process that finds the caller on disk has the caller's copy alone, which has been optimised with
    it. Where sums may be reordered the two round differently, so that the first run on a machine
    would differ from all later ones. Copies that are private are the same in both.
    """
    optimize = codegen.CPUCodeLibrary._optimize_final_module

    def make_private_and_optimize(library: codegen.CPUCodeLibrary) -> None:
        for function in library._final_module.functions:
            if function.linkage == llvmlite.binding.Linkage.linkonce_odr:
                function.linkage = "internal"
        optimize(library)

    codegen.CPUCodeLibrary._optimize_final_module = make_private_and_optimize


def _configure() -> None:
    """Set numba's options; what a person has set by environment variables stays."""
    numba.config.CACHE_DIR = str(choose_cache_folder())
    if HAS_AVX512 and "NUMBA_CPU_FEATURES" not in os.environ:
        # Some processors are described as preferring half registers; these kernels do not.
        features = llvmlite.binding.get_host_cpu_features().flatten()
        numba.config.CPU_FEATURES = f"{features},-prefer-256-bit"
    _call_own_copies()
    event.register("numba:compile", _CompileNotice())


_configure()
