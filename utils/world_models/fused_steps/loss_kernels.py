# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What losses of a world model and a critic reckon row by row."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _softmax(place, inside):
    """Return the softmax and its logarithm over the last dimension of (S, C) or (R, C) numbers."""
    x = tl.load(place, mask=inside, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, 1)[:, None]
    e = tl.exp(x)
    total = tl.sum(e, 1)
    return e / total[:, None], x - tl.log(total)[:, None]


@triton.jit
def _unimix(place, inside, SHARE: tl.constexpr, C: tl.constexpr):
    """Return probabilities without and with the uniform share, and the logarithm of the latter."""
    # Choices beyond the last one read as even, so that nothing is divided by 0.
    p, logprob = _softmax(place, inside)
    mixed = p * (1.0 - SHARE) + SHARE / C
    if SHARE > 0.0:
        logprob = tl.log(mixed)
    return p, mixed, logprob


@triton.jit
def _place_of(x, n, s, c, S: tl.constexpr, C: tl.constexpr):
    return x + n * S * C + tl.minimum(s, S - 1)[:, None] * C + c[None, :]


@triton.jit
def divergence_kernel(
    first,
    second,
    out,
    SHARE: tl.constexpr,
    S: tl.constexpr,
    C: tl.constexpr,
    S_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Write ``KL(first || second)`` summed over all choices; one row for each program.

    Args:
        first: (N, S, C) logits.
        second: (N, S, C) logits.
        out: (N,) float32, written.
        SHARE: Of the probabilities that is uniform.
        S: Choices.
        C: Classes of each.
        S_BLOCK: A power of two, S at least.
        C_BLOCK: A power of two, C at least.
    """
    n = tl.program_id(0).to(tl.int64)
    s, c = tl.arange(0, S_BLOCK), tl.arange(0, C_BLOCK)
    is_class = (c < C)[None, :]
    _, p, log_p = _unimix(_place_of(first, n, s, c, S, C), is_class, SHARE, C)
    _, _, log_q = _unimix(_place_of(second, n, s, c, S, C), is_class, SHARE, C)
    inside = (s < S)[:, None] & is_class
    each = tl.where(inside, p * (log_p - log_q), 0.0)
    tl.store(out + n, tl.sum(tl.sum(each, 1), 0))


@triton.jit
def divergence_back_kernel(
    first,
    second,
    grad,
    of_first,
    of_second,
    SHARE: tl.constexpr,
    NEEDS_FIRST: tl.constexpr,
    NEEDS_SECOND: tl.constexpr,
    S: tl.constexpr,
    C: tl.constexpr,
    S_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Write the gradients of `divergence_kernel`; one row for each program.

    ``dKL / dp = log p - log q + 1``, ``dKL / dq = -p / q``, and of a softmax s
    ``dx = s (ds - sum(s ds))``.

    Args:
        first: As there.
        second: As there.
        grad: (N,) of `out`.
        of_first: As `first`, written if NEEDS_FIRST.
        of_second: As `second`, written if NEEDS_SECOND.
        SHARE: As there, above 0.
        NEEDS_FIRST: See `of_first`.
        NEEDS_SECOND: See `of_second`.
        S: As there, and so on.
        C: As there.
        S_BLOCK: As there.
        C_BLOCK: As there.
    """
    n = tl.program_id(0).to(tl.int64)
    s, c = tl.arange(0, S_BLOCK), tl.arange(0, C_BLOCK)
    is_class = (c < C)[None, :]
    inside = (s < S)[:, None] & is_class
    pure_p, p, log_p = _unimix(_place_of(first, n, s, c, S, C), is_class, SHARE, C)
    pure_q, q, log_q = _unimix(_place_of(second, n, s, c, S, C), is_class, SHARE, C)
    scale = tl.load(grad + n).to(tl.float32) * (1.0 - SHARE)
    if NEEDS_FIRST:
        of_p = tl.where(is_class, log_p - log_q, 0.0)
        dx = scale * pure_p * (of_p - tl.sum(pure_p * of_p, 1)[:, None])
        tl.store(_place_of(of_first, n, s, c, S, C), dx, mask=inside)
    if NEEDS_SECOND:
        of_q = tl.where(is_class, -p / q, 0.0)
        dx = scale * pure_q * (of_q - tl.sum(pure_q * of_q, 1)[:, None])
        tl.store(_place_of(of_second, n, s, c, S, C), dx, mask=inside)


@triton.jit
def entropy_kernel(
    parameters,
    out,
    SHARE: tl.constexpr,
    S: tl.constexpr,
    C: tl.constexpr,
    S_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Write the entropy summed over all choices; one row for each program.

    Args:
        parameters: (N, S, C) logits.
        out: (N,) float32, written.
        SHARE: Of the probabilities that is uniform.
        S: Choices.
        C: Classes of each.
        S_BLOCK: A power of two, S at least.
        C_BLOCK: A power of two, C at least.
    """
    n = tl.program_id(0).to(tl.int64)
    s, c = tl.arange(0, S_BLOCK), tl.arange(0, C_BLOCK)
    is_class = (c < C)[None, :]
    _, p, logprob = _unimix(_place_of(parameters, n, s, c, S, C), is_class, SHARE, C)
    inside = (s < S)[:, None] & is_class
    tl.store(out + n, -tl.sum(tl.sum(tl.where(inside, p * logprob, 0.0), 1), 0))


@triton.jit
def _two_bins(bins, target, known, b, N: tl.constexpr):
    """Return the bin above each number, and the weight of the one below it; see `two_hot_loss`."""
    bin_ = tl.load(bins + b, mask=b < N, other=float("inf"))
    above = tl.sum((bin_[None, :] <= target[:, None]).to(tl.int32), 1)
    above = tl.minimum(tl.maximum(above, 1), N - 1)
    low = tl.load(bins + above - 1, mask=known, other=0.0)
    high = tl.load(bins + above, mask=known, other=1.0)
    weight = (high - target) / (high - low)
    inner = tl.minimum(tl.maximum(weight, 0.0), 1.0)
    return above, tl.where(weight == weight, inner, weight)


@triton.jit
def two_hot_loss_kernel(
    logits,
    target,
    bins,
    out,
    ROWS,
    N: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the cross-entropy with the two bins around a number; R rows for each program.

    Args:
        logits: (ROWS, N)
        target: (ROWS,) float32
        bins: (N,) float32, rising.
        out: (ROWS,) float32, written.
        ROWS: Number of rows.
        N: Number of bins.
        R: A power of two.
        BLOCK: A power of two, N at least.
    """
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    b = tl.arange(0, BLOCK)
    known = rows < ROWS
    is_bin = (b < N)[None, :]
    place = logits + tl.minimum(rows, ROWS - 1)[:, None] * N + b[None, :]
    _, logprob = _softmax(place, is_bin)
    above, weight = _two_bins(bins, tl.load(target + rows, mask=known, other=0.0), known, b, N)
    of_above = tl.sum(tl.where(b[None, :] == above[:, None], logprob, 0.0), 1)
    of_below = tl.sum(tl.where(b[None, :] == above[:, None] - 1, logprob, 0.0), 1)
    tl.store(out + rows, -(of_above + weight * (of_below - of_above)), mask=known)


@triton.jit
def two_hot_back_kernel(
    logits,
    target,
    bins,
    grad,
    out,
    ROWS,
    N: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the gradient of `two_hot_loss_kernel`: probabilities less the weights of the bins.

    Args:
        logits: As there.
        target: As there.
        bins: As there.
        grad: (ROWS,) of `out` there.
        out: (ROWS, N) gradient of the logits, written.
        ROWS: As there, and so on.
        N: As there.
        R: As there.
        BLOCK: As there.
    """
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    b = tl.arange(0, BLOCK)
    known = rows < ROWS
    is_bin = (b < N)[None, :]
    of_rows = tl.minimum(rows, ROWS - 1)[:, None] * N + b[None, :]
    p, _ = _softmax(logits + of_rows, is_bin)
    above, weight = _two_bins(bins, tl.load(target + rows, mask=known, other=0.0), known, b, N)
    weight = weight[:, None]
    wanted = tl.where(b[None, :] == above[:, None], 1.0 - weight, 0.0)
    wanted = tl.where(b[None, :] == above[:, None] - 1, weight, wanted)
    scale = tl.load(grad + rows, mask=known, other=0.0).to(tl.float32)[:, None]
    tl.store(out + of_rows, scale * (p - wanted), mask=known[:, None] & is_bin)


@triton.jit
def two_hot_mean_kernel(
    logits,
    bins,
    out,
    ROWS,
    N: tl.constexpr,
    R: tl.constexpr,
    ROUNDING: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the mean of distributions over bins; R rows for each program.

    Each bin is taken together with the one that lies opposite, and only the difference of both
    counts, where it is more than rounding: the mean of a symmetric distribution is 0 exactly.

    Args:
        logits: (ROWS, N)
        bins: (N,) float32, rising, symmetric around 0.
        out: (ROWS,) float32, written.
        ROWS: Number of rows.
        N: Number of bins, odd.
        R: A power of two.
        ROUNDING: Share of two opposite probabilities up to which their difference is rounding.
        BLOCK: A power of two, N // 2 + 1 at least.
    """
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    b = tl.arange(0, BLOCK)
    place = logits + tl.minimum(rows, ROWS - 1)[:, None] * N
    # The middle one is in the first half only; its bin is 0.
    first, second = (b <= N // 2)[None, :], (b < N // 2)[None, :]
    x = tl.load(place + b[None, :], mask=first, other=-float("inf")).to(tl.float32)
    y = tl.load(place + N - 1 - b[None, :], mask=second, other=-float("inf")).to(tl.float32)
    most = tl.max(tl.maximum(x, y), 1)[:, None]
    x, y = tl.exp(x - most), tl.exp(y - most)
    bin_ = tl.load(bins + b, mask=b < N // 2, other=0.0)[None, :]
    total = tl.sum(x + y, 1)
    difference = tl.where(tl.abs(x - y) <= ROUNDING * (x + y), 0.0, x - y)
    tl.store(out + rows, tl.sum(difference * bin_, 1) / total, mask=rows < ROWS)
