"""Where the fused kernels are used; needs no Triton."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.models.triton_support import why_no_triton

MOST_NUMBERS = 16384
"""Of a row that is normed, what one program of a GPU holds at once."""
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
"""Kernels reckon in float32."""


def runs_fused(x: Tensor, *, width: int) -> bool:
    """Say whether kernels take `x` and make rows of `width` numbers of it."""
    return x.is_cuda and x.dtype in _DTYPES and width <= MOST_NUMBERS and why_no_triton() is None
