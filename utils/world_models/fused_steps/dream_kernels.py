# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What is drawn in a dream, and what a dream is worth."""

from __future__ import annotations

import triton
import triton.language as tl

from utils.models.triton_functions import sigmoid, tanh


@triton.jit
def act_kernel(
    parameters, noise, out, SIZE, STRIDE, LEAST_STD, A: tl.constexpr, BLOCK: tl.constexpr
):
    """Write what a `BoundedNormal` draws: ``tanh(m) + ((1 - least) sigmoid(s + 2) + least) noise``.

    Args:
        parameters: Rows of A means m and A deviations s.
        noise: (SIZE,) standard normal numbers, A of each row.
        out: (SIZE,) float32, written.
        SIZE: Numbers of all actions.
        STRIDE: Numbers from one row of `parameters` to the next.
        LEAST_STD: Least deviation; the most is 1.
        A: Numbers of an action.
        BLOCK: Numbers of one program.
    """
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < SIZE
    place = parameters + (i // A) * STRIDE + i % A
    mean = tanh(tl.load(place, mask=inside, other=0.0).to(tl.float32))
    opened = sigmoid(tl.load(place + A, mask=inside, other=0.0).to(tl.float32) + 2.0)
    std = (1.0 - LEAST_STD) * opened + LEAST_STD
    tl.store(out + i, mean + std * tl.load(noise + i, mask=inside, other=0.0), mask=inside)


@triton.jit
def _follow(factor, start, factor_before, start_before):
    """Put one step before those that were put together already."""
    return factor * factor_before, start_before + factor_before * start


@triton.jit
def returns_kernel(
    reward,
    discount,
    next_value,
    trace,
    out,
    N,
    TRACE,
    HAS_TRACE: tl.constexpr,
    T: tl.constexpr,
    T_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write mixtures of n-step returns; see `utils.returns.lambda_returns`.

    Args:
        reward: (T, N) float32
        discount: (T, N) float32
        next_value: (T, N) float32
        trace: (T, N) float32, read if HAS_TRACE.
        out: (T, N) float32, written.
        N: Number of sequences.
        TRACE: The same for all, otherwise.
        HAS_TRACE: See `trace`.
        T: Number of steps.
        T_BLOCK: A power of two, T at least.
        BLOCK: Sequences of one program, a power of two.
    """
    t = tl.arange(0, T_BLOCK)[:, None]
    n = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (t < T) & (n < N)
    at = t * N + n
    discounted = tl.load(discount + at, mask=inside, other=1.0)
    value = tl.load(next_value + at, mask=inside, other=0.0)
    share = tl.zeros([T_BLOCK, BLOCK], tl.float32) + TRACE
    if HAS_TRACE:
        share = tl.load(trace + at, mask=inside, other=1.0)
    # The last step bootstraps with its value alone.
    own = tl.where(t == T - 1, 1.0, 1.0 - share)
    start = tl.load(reward + at, mask=inside, other=0.0) + discounted * own * value
    factor = tl.where(t < T, discounted * share, 1.0)
    _, worth = tl.associative_scan((factor, start), 0, _follow, reverse=True)
    tl.store(out + at, worth, mask=inside)
