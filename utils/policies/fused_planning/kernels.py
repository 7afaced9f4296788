# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What happens between the matrix products of a plan.

Needs Triton; only `networks` and `planner`, which are imported where there is a GPU, and tests
import it. With ``TRITON_INTERPRET=1`` set before the first import the same code runs on the CPU.
"""

from __future__ import annotations

import triton
import triton.language as tl

from utils.models.triton_functions import tanh

_LARGEST = tl.constexpr(3.4028234663852886e38)


@triton.jit
def _normed(x, inside, width, eps):
    """Bring the numbers of a block that are `inside` to mean 0 and variance 1."""
    mean = tl.sum(tl.where(inside, x, 0.0)) / width
    apart = tl.where(inside, x - mean, 0.0)
    return apart * tl.rsqrt(tl.sum(apart * apart) / width + eps)


@triton.jit
def _sum_over_bins(logits, bins, inside):
    """Return the number that logits (R, bins) stand for, (R,): the symexp of the mean bin."""
    logits = tl.where(inside, logits, -float("inf"))
    p = tl.exp(logits - tl.max(logits, 1)[:, None])
    mean = tl.sum(p * bins, 1) / tl.sum(p, 1)
    size = tl.exp(tl.abs(mean)) - 1.0
    return tl.where(mean < 0.0, -size, size)


@triton.jit
def norm_mish_kernel(x, bias, scale, shift, ROWS, WIDTH: tl.constexpr, EPS, BLOCK: tl.constexpr):
    """Add a bias, norm the layer and apply mish, in place; one row for each program.

    Args:
        x: (E, ROWS, WIDTH) float32, of E networks.
        bias: (E, WIDTH); scale and shift likewise.
        scale: Of the norm.
        shift: Of the norm.
        ROWS: Of one network.
        WIDTH: Numbers of a row.
        EPS: Of the norm.
        BLOCK: A power of two, WIDTH at least.
    """
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < WIDTH
    of_network = (row // ROWS) * WIDTH + at
    place = x + row.to(tl.int64) * WIDTH + at
    h = tl.load(place, mask=inside, other=0.0) + tl.load(bias + of_network, mask=inside, other=0.0)
    h = _normed(h, inside, WIDTH, EPS) * tl.load(scale + of_network, mask=inside, other=0.0)
    h += tl.load(shift + of_network, mask=inside, other=0.0)
    e = tl.exp(tl.minimum(h, 20.0))
    n = e * (e + 2.0)  # tanh(log(1 + e)) = n / (n + 2)
    tl.store(place, h * (n / (n + 2.0)), mask=inside)


@triton.jit
def norm_simplex_kernel(
    x,
    bias,
    scale,
    shift,
    out,
    OUT_STRIDE,
    WIDTH: tl.constexpr,
    GROUP: tl.constexpr,
    EPS,
    GROUPS: tl.constexpr,
    GROUP_BLOCK: tl.constexpr,
):
    """Add a bias, norm the layer and make a distribution of each group; one row per program.

    Args:
        x: (rows, WIDTH) float32.
        bias: (WIDTH,); scale and shift likewise.
        scale: Of the norm.
        shift: Of the norm.
        out: (rows, OUT_STRIDE), the first WIDTH numbers of each row are written.
        OUT_STRIDE: Numbers from one row to the next.
        WIDTH: Numbers of a row.
        GROUP: Numbers of a distribution.
        EPS: Of the norm.
        GROUPS: A power of two, WIDTH / GROUP at least.
        GROUP_BLOCK: A power of two, GROUP at least.
    """
    row = tl.program_id(0).to(tl.int64)
    g, j = tl.arange(0, GROUPS)[:, None], tl.arange(0, GROUP_BLOCK)[None, :]
    at = g * GROUP + j
    inside = (j < GROUP) & (at < WIDTH)
    h = tl.load(x + row * WIDTH + at, mask=inside, other=0.0)
    h += tl.load(bias + at, mask=inside, other=0.0)
    h = _normed(h, inside, WIDTH, EPS) * tl.load(scale + at, mask=inside, other=0.0)
    h += tl.load(shift + at, mask=inside, other=0.0)
    h = tl.where(j < GROUP, h, -float("inf"))
    p = tl.exp(h - tl.max(h, 1)[:, None])
    tl.store(out + row * OUT_STRIDE + at, p / tl.sum(p, 1)[:, None], mask=inside)


@triton.jit
def squash_kernel(
    x,
    bias,
    noise,
    out,
    X_STRIDE,
    OUT_STRIDE,
    NOISE_ROWS,
    A: tl.constexpr,
    LOG_STD_MIN: tl.constexpr,
    LOG_STD_MAX: tl.constexpr,
    HAS_NOISE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Make actions ``tanh(mean + std * noise)`` of the prior's outputs; one row per program.

    Args:
        x: (rows, X_STRIDE), of which 2 A numbers are mean and what the deviation comes from.
        bias: (2 A,)
        noise: (NOISE_ROWS, A), row r reads row r % NOISE_ROWS.
        out: (rows, OUT_STRIDE), A numbers of each row are written.
        X_STRIDE: Numbers from one row to the next.
        OUT_STRIDE: The same of `out`.
        NOISE_ROWS: See `noise`.
        A: Numbers of an action.
        LOG_STD_MIN: Least logarithm of a deviation.
        LOG_STD_MAX: The most.
        HAS_NOISE: Whether there is noise; the mode otherwise.
        BLOCK: A power of two, A at least.
    """
    row = tl.program_id(0).to(tl.int64)
    a = tl.arange(0, BLOCK)
    inside = a < A
    action = tl.load(x + row * X_STRIDE + a, mask=inside, other=0.0)
    action += tl.load(bias + a, mask=inside, other=0.0)
    if HAS_NOISE:
        raw = tl.load(x + row * X_STRIDE + A + a, mask=inside, other=0.0)
        raw += tl.load(bias + A + a, mask=inside, other=0.0)
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (tanh(raw) + 1.0)
        drawn = tl.load(noise + (row % NOISE_ROWS) * A + a, mask=inside, other=0.0)
        action += tl.exp(log_std) * drawn
    tl.store(out + row * OUT_STRIDE + a, tanh(action), mask=inside)


@triton.jit
def returns_kernel(
    reward,
    reward_bias,
    critics,
    critics_bias,
    end,
    bins,
    discount,
    out,
    ROWS,
    STRIDE,
    END_STRIDE,
    H: tl.constexpr,
    E: tl.constexpr,
    N_BINS: tl.constexpr,
    LEAST: tl.constexpr,
    HAS_END: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Sum up what sequences promise: ``sum_t gamma^t r_t + gamma^H Q``; R rows per program.

    Args:
        reward: (H, ROWS, STRIDE) logits over bins.
        reward_bias: (N_BINS,)
        critics: (E, ROWS, STRIDE) logits over bins.
        critics_bias: (E, N_BINS)
        end: (H, ROWS, END_STRIDE), logits, biases added, of the episode's end after each step;
            where they are above 0 nothing counts any more.
        bins: (N_BINS,) symmetric logarithms.
        discount: () gamma.
        out: (ROWS,) written.
        ROWS: Number of sequences.
        STRIDE: Numbers from one row of logits to the next.
        END_STRIDE: The same of `end`.
        H: Steps of a plan.
        E: Number of critics.
        N_BINS: Number of bins.
        LEAST: Take the least critic; the mean otherwise.
        HAS_END: Whether `end` is read.
        R: A power of two.
        BLOCK: A power of two, N_BINS at least.
    """
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    known = rows < ROWS
    b = tl.arange(0, BLOCK)[None, :]
    inside = b < N_BINS
    both = known[:, None] & inside
    bin_ = tl.load(bins + b, mask=inside, other=0.0)
    gamma = tl.load(discount)
    total = tl.zeros([R], tl.float32)
    weight = tl.zeros([R], tl.float32) + 1.0
    bias = tl.load(reward_bias + b, mask=inside, other=0.0)
    for h in tl.static_range(H):
        at = (h * ROWS + rows).to(tl.int64)
        logits = tl.load(reward + at[:, None] * STRIDE + b, mask=both, other=0.0) + bias
        total += weight * _sum_over_bins(logits, bin_, inside)
        weight = weight * gamma
        if HAS_END:
            over = tl.load(end + at * END_STRIDE, mask=known, other=0.0)
            weight = tl.where(over > 0.0, 0.0, weight)
    value = tl.zeros([R], tl.float32)
    for e in tl.static_range(E):
        at = (e * ROWS + rows).to(tl.int64)
        logits = tl.load(critics + at[:, None] * STRIDE + b, mask=both, other=0.0)
        logits += tl.load(critics_bias + e * N_BINS + b, mask=inside, other=0.0)
        number = _sum_over_bins(logits, bin_, inside)
        if LEAST:
            value = number if e == 0 else tl.minimum(value, number)
        else:
            value += number / E
    tl.store(out + rows, total + weight * value, mask=known)


@triton.jit
def draw_kernel(
    mean,
    std,
    noise,
    actions,
    SIZE,
    N,
    NOISE_N,
    K,
    P,
    STRIDE,
    A: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Draw candidates ``clip(mean + std * noise, -1, 1)`` beside those that are given.

    Args:
        mean: (H, N, A); std likewise.
        std: Deviations.
        noise: (H, NOISE_N, K - P, A), NOISE_N being N, or 1.
        actions: (H, N, K, STRIDE), A numbers of each row from P on are written.
        SIZE: H * N * (K - P) * A, the numbers to draw.
        N: Problems.
        NOISE_N: See `noise`.
        K: Candidates.
        P: Candidates that are given.
        STRIDE: Numbers from one row of `actions` to the next.
        A: Numbers of an action.
        BLOCK: Numbers of one program.
    """
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    known = i < SIZE
    a, rest = i % A, i // A
    k, rest = rest % (K - P), rest // (K - P)
    n, h = rest % N, rest // N
    of_noise = ((h * NOISE_N + n % NOISE_N) * (K - P) + k) * A + a
    drawn = tl.load(noise + of_noise, mask=known, other=0.0)
    of_problem = (h * N + n) * A + a
    middle = tl.load(mean + of_problem, mask=known, other=0.0)
    value = middle + tl.load(std + of_problem, mask=known, other=0.0) * drawn
    value = tl.minimum(tl.maximum(value, -1.0), 1.0)
    tl.store(actions + ((h * N + n) * K + P + k) * STRIDE + a, value, mask=known)


@triton.jit
def _order(value, index):
    """Return int64 whose order is that of float32 values; of equal ones the first is greater."""
    bits = value.to(tl.int32, bitcast=True)
    bits = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return (bits.to(tl.int64) << 32) | (0x7FFFFFFF - index).to(tl.int64)


@triton.jit
def refine_kernel(
    worth,
    actions,
    mean,
    std,
    elites,
    values,
    scores,
    min_std,
    N,
    K,
    E,
    STRIDE,
    TEMPERATURE,
    MAX_STD,
    MOMENTUM,
    H: tl.constexpr,
    A: tl.constexpr,
    K_BLOCK: tl.constexpr,
    E_BLOCK: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    """Make the next distribution of the best candidates; one problem for each program.

    See `utils.planning.mppi.plan`, of whose loop this is the second half.

    Args:
        worth: (N, K) what candidates are worth; no number counts as 0.
        actions: (H, N, K, STRIDE), A numbers of each row are read.
        mean: (H, N, A) read and written.
        std: (H, N, A) written.
        elites: (H, N, E, A) written, the best one first.
        values: (N, E) written.
        scores: (N, E) written.
        min_std: ()
        N: Problems.
        K: Candidates.
        E: Elites.
        STRIDE: Numbers from one row of `actions` to the next.
        TEMPERATURE: See `PathIntegralSettings`.
        MAX_STD: See there.
        MOMENTUM: See there.
        H: Steps of a plan.
        A: Numbers of an action.
        K_BLOCK: A power of two, K and E_BLOCK at least.
        E_BLOCK: A power of two, E at least.
        A_BLOCK: A power of two, A at least.
    """
    n = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, K_BLOCK)
    value = tl.load(worth + n * K + k, mask=k < K, other=0.0)
    value = tl.where(value == value, value, 0.0)
    value = tl.where(k < K, value, -float("inf"))
    ranked = tl.sort(_order(value, k), descending=True)
    ranked = tl.reshape(ranked, (K_BLOCK // E_BLOCK, E_BLOCK))
    is_best = tl.arange(0, K_BLOCK // E_BLOCK)[:, None] == 0
    best = tl.sum(tl.where(is_best, ranked, 0), 0)
    index = 0x7FFFFFFF - (best & 0x7FFFFFFF)
    e = tl.arange(0, E_BLOCK)
    chosen = e < E
    index = tl.where(chosen, index, 0)
    value = tl.load(worth + n * K + index, mask=chosen, other=0.0)
    value = tl.where(value == value, value, 0.0)
    value = tl.minimum(tl.maximum(value, -_LARGEST), _LARGEST)
    scaled = tl.where(chosen, TEMPERATURE * value, -float("inf"))
    score = tl.exp(scaled - tl.max(scaled, 0))
    score = score / tl.sum(score, 0)
    tl.store(values + n * E + e, value, mask=chosen)
    tl.store(scores + n * E + e, score, mask=chosen)
    a = tl.arange(0, A_BLOCK)
    both = chosen[:, None] & (a < A)[None, :]
    floor = tl.load(min_std)
    for h in tl.static_range(H):
        row = (h * N + n) * K + index
        action = tl.load(actions + row[:, None] * STRIDE + a[None, :], mask=both, other=0.0)
        place = elites + ((h * N + n) * E + e[:, None]) * A + a[None, :]
        tl.store(place, action, mask=both)
        middle = tl.sum(score[:, None] * action, 0)
        apart = tl.where(both, action - middle[None, :], 0.0)
        spread = tl.sqrt(tl.sum(score[:, None] * apart * apart, 0))
        of_step = (h * N + n) * A + a
        before = tl.load(mean + of_step, mask=a < A, other=0.0)
        spread = tl.minimum(tl.maximum(spread, floor), MAX_STD)
        tl.store(std + of_step, spread, mask=a < A)
        tl.store(mean + of_step, middle + MOMENTUM * (before - middle), mask=a < A)
