# ruff: noqa: N803 - capitals are a kernel's constants
"""What several kernels reckon, float32, and how many threads a row is given.

Needs Triton, as all modules here but `availability`; imported where there is a GPU. With
``TRITON_INTERPRET=1`` set before the first import the same code runs on the CPU.
"""

from __future__ import annotations

import triton
import triton.language as tl

from utils.models.triton_functions import sigmoid, tanh

_NUMBERS_OF_A_WARP = 256
_MOST_WARPS = 16


@triton.jit
def round_as(x, place):
    """Return float32 numbers as they are once they have been stored at `place`."""
    return x.to(place.dtype.element_ty).to(tl.float32)


@triton.jit
def norm_silu(x, weight, WIDTH, EPS):
    """Return ``silu(rms_norm(x) * weight)`` of a row; numbers outside of it are 0."""
    h = x * tl.rsqrt(tl.sum(x * x, 0) / WIDTH + EPS) * weight
    return h * sigmoid(h)


@triton.jit
def norm_silu_back(x, weight, dy, WIDTH, EPS):
    """Return the gradients of `x` and of `weight` in `norm_silu`, given that of its result.

    ``n = x s``, ``s = (mean(x^2) + eps)^-1/2``, ``h = n w``, ``y = h sigmoid(h)``:
    ``dw = dh n``, ``dx = s (g - n mean(g n))``, ``g = dh w``.
    """
    scale = tl.rsqrt(tl.sum(x * x, 0) / WIDTH + EPS)
    n = x * scale
    h = n * weight
    s = sigmoid(h)
    dh = dy * s * (1.0 + h * (1.0 - s))
    g = dh * weight
    return scale * (g - n * (tl.sum(g * n, 0) / WIDTH)), dh * n


@triton.jit
def softmax_rows(logits, inside):
    """Return the softmax of each row of (R, C) where `inside`, and 0 elsewhere."""
    logits = tl.where(inside, logits, -float("inf"))
    p = tl.exp(logits - tl.max(logits, 1)[:, None])
    return p / tl.sum(p, 1)[:, None]


@triton.jit
def open_gates(gates, bias, at, of_bias, inside, SIZE: tl.constexpr):
    """Return reset, what it scales, candidate and update of the numbers of a state.

    Args:
        gates: (..., 3, SIZE) products.
        bias: (..., 3, SIZE)
        at: Where the resets lie in `gates`.
        of_bias: Where they lie in `bias`.
        inside: What of it is read.
        SIZE: Numbers of a block of the state.
    """
    reset = tl.load(gates + at, mask=inside, other=0.0).to(tl.float32)
    reset += tl.load(bias + of_bias, mask=inside, other=0.0).to(tl.float32)
    raw = tl.load(gates + at + SIZE, mask=inside, other=0.0).to(tl.float32)
    raw += tl.load(bias + of_bias + SIZE, mask=inside, other=0.0).to(tl.float32)
    update = tl.load(gates + at + 2 * SIZE, mask=inside, other=0.0).to(tl.float32)
    update += tl.load(bias + of_bias + 2 * SIZE, mask=inside, other=0.0).to(tl.float32)
    reset = sigmoid(reset)
    return reset, raw, tanh(reset * raw), sigmoid(update)


def warps_of(n_numbers: int) -> int:
    """Return how many warps a program of a GPU has that holds so many numbers, a power of two."""
    return max(1, min(_MOST_WARPS, n_numbers // _NUMBERS_OF_A_WARP))
