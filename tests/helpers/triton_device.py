"""Where Triton's kernels are tested: on a GPU, or else in Triton's interpreter on the CPU.

`tests/conftest.py` asks for the interpreter. Where there is no Triton, which is made for Linux, the
tests of whoever imports this are skipped, for which it is imported before all kernels.
"""

from __future__ import annotations

import importlib.util
import sys

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if importlib.util.find_spec("triton") is None:
    assert sys.platform != "linux", "Triton is missing: install the extra dev"
    pytest.skip("needs Triton", allow_module_level=True)
