"""What a result depends on besides the config: versions, threads, processor, commit."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PACKAGES = (
    "torch",
    "lightning",
    "gymnasium",
    "numpy",
    "numba",
    "pydantic",
    "orjson",
    "av",
    "ale-py",
    "box2d",
    "pygame-ce",
    "opencv-python-headless",
    "mujoco",
    "dm_control",
    "minigrid",
    "vizdoom",
    "stable-retro",
    "triton",
)
_VECTOR_FLAG = re.compile(r"avx\w*|fma|sse4_[12]|amx_\w+|neon|asimd|sve\w*")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ARITHMETIC_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NUMBA_DISABLE_JIT",
    "OPENBLAS_CORETYPE",
    "CUBLAS_WORKSPACE_CONFIG",
)
"""What tells libraries which instructions to use, and so how to round."""
_REPOSITORY = Path(__file__).resolve().parents[2]


def collect() -> dict[str, Any]:
    """Return the facts of this process as JSON values; imports none of the packages."""
    return {
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "argv": list(sys.argv),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor_name(),
        "processor_flags": _processor_flags(),
        "cores": os.cpu_count(),
        "usable_cores": _usable_cores(),
        "thread_variables": {k: os.environ[k] for k in THREAD_VARIABLES if k in os.environ},
        "arithmetic_variables": {k: os.environ[k] for k in ARITHMETIC_VARIABLES if k in os.environ},
        "packages": _package_versions(),
        "git_commit": _git("rev-parse", "HEAD"),
        "git_has_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
    }


def _package_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _usable_cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _processor_name() -> str:
    return next(iter(_of_processors("model name")), platform.processor())


def _processor_flags() -> list[str]:
    """Return the vector instructions of the processor: libraries choose by them how to sum."""
    found = (*_of_processors("flags"), *_of_processors("Features"))
    words = set(found[0].split()) if found else set()
    return sorted(word for word in words if _VECTOR_FLAG.fullmatch(word))


def _of_processors(key: str) -> list[str]:
    """Return what the system says under a key of each processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.partition("\t")[0] == key]


def _git(*arguments: str) -> str | None:
    """Return git's answer about this program's own repository; None when it has none."""
    if not (_REPOSITORY / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(_REPOSITORY), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
