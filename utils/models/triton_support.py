"""Whether kernels of Triton can be made on this machine, and be given what; needs no Triton."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
from functools import cache
from pathlib import Path

import torch
from torch import Tensor


@cache
def why_no_triton() -> str | None:
    """Say what keeps Triton from making kernels for a GPU here; None if nothing does.

    Triton, which comes with torch, has a C compiler of the machine build what launches its kernels,
    and that needs the headers of Python. Small images of containers have neither.
    """
    if torch.version.cuda is None or importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if "CC" not in os.environ and not (shutil.which("gcc") or shutil.which("clang")):
        return "Triton needs a C compiler, and there is neither gcc nor clang"
    # Debian's own scheme names a folder of packages; Triton, too, takes the one of Python itself.
    scheme = sysconfig.get_default_scheme().replace("posix_local", "posix_prefix")
    header = Path(sysconfig.get_paths(scheme=scheme)["include"], "Python.h")
    return None if header.exists() else f"Triton needs '{header}', which is missing"


def assert_dense(*tensors: Tensor) -> None:
    """Check that numbers follow on each other in memory, as kernels without strides take them.

    A kernel that is given a transposed view reads other numbers than those that are meant.
    """
    for i, x in enumerate(tensors):
        assert x.is_contiguous(), (i, tuple(x.shape), x.stride())
