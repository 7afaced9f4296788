"""Functions of numbers that several kernels of Triton call.

Needs Triton; imported by kernels alone.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    """Return ``1 / (1 + exp(-x))``."""
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """Return the hyperbolic tangent."""
    e = tl.exp(-2.0 * tl.abs(x))
    y = (1.0 - e) / (1.0 + e)
    return tl.where(x < 0.0, -y, y)
