"""Where Triton's kernels are tested: on a GPU, or else in Triton's interpreter on the CPU.

The interpreter has to be asked for before Triton is imported. Where Triton is missing, or others
have imported it without, the tests of whoever imports this are skipped. It is imported before all
kernels.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if importlib.util.find_spec("triton") is None:
    pytest.skip("needs Triton", allow_module_level=True)
if DEVICE == "cpu":
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("needs a GPU, or Triton's interpreter", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"
