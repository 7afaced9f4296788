# ruff: noqa: N803, PLR0913, PLR0915 - capitals are a kernel's constants, of which there are many
"""Sum of the partial gradients, clipping, Adam, and the record of what happened."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["N_PROGRAMS"])
def reduce_kernel(
    gradients,
    gradient,
    squares,
    N_PROGRAMS,
    SIZE: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Sum the partial gradients of both nets, always in the same order.

    Args:
        gradients: (2, N_PROGRAMS, SIZE).
        gradient: (2 * SIZE,), written.
        squares: (programs,), written: the sum of squares of each program's COLUMNS numbers.
        N_PROGRAMS: Partial gradients of each net.
        SIZE: Numbers of one net, a multiple of COLUMNS.
        COLUMNS: Numbers of one program.
        ROWS: Partial gradients at a time.
    """
    program = tl.program_id(0)
    net, first = (program * COLUMNS) // SIZE, (program * COLUMNS) % SIZE
    column = first + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, N_PROGRAMS, ROWS):
        row = start + tl.arange(0, ROWS)
        places = gradients + (net * N_PROGRAMS + row[:, None]) * SIZE + column[None, :]
        total += tl.load(places, mask=row[:, None] < N_PROGRAMS, other=0.0)
    g = tl.sum(total, 0)
    tl.store(gradient + program * COLUMNS + tl.arange(0, COLUMNS), g)
    tl.store(squares + program, tl.sum(g * g, 0))


@triton.jit(do_not_specialize=["m"])
def adam_kernel(
    P,
    gradient,
    exp_avg,
    exp_avg_sq,
    squares,
    hyper,
    counters,
    record,
    m,
    N_SAMPLES,
    BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    LOG_BETA1: tl.constexpr,
    LOG_BETA2: tl.constexpr,
    EPS: tl.constexpr,
    WEIGHT_DECAY: tl.constexpr,
    IS_DECOUPLED: tl.constexpr,
    C: tl.constexpr,
    N_SQUARES: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Clip the gradient and take one step of Adam or AdamW, as torch does.

    Args:
        P: (2 * net_size,), changed.
        gradient: (2 * gradient_size,).
        exp_avg: (2 * net_size,), changed.
        exp_avg_sq: (2 * net_size,), changed.
        squares: From `reduce_kernel`.
        hyper: float32 hyperparameters: learning rate first, largest norm seventh.
        counters: int32: number of the iteration, optimiser steps before it.
        record: (minibatches, 9) float32, row m written: sums of policy loss, entropy, divergence
            estimate, clipped samples and value loss divided by N_SAMPLES; squared gradient norms of
            actor head, critic head and trunk; 1 if the gradient was clipped.
        m: Minibatch of the iteration.
        N_SAMPLES: Of one minibatch.
        BETA1: Decay of the first moment.
        BETA2: Decay of the second.
        LOG_BETA1: Natural logarithm of BETA1.
        LOG_BETA2: Of BETA2.
        EPS: Added to the root of the second moment.
        WEIGHT_DECAY: 0 for none.
        IS_DECOUPLED: AdamW; otherwise decay is part of the gradient.
        C: Layout.
        N_SQUARES: Power of two, at least the numbers in `squares`.
        COLUMNS: Of `reduce_kernel`.
        BLOCK: Numbers of one program; axis 1 of the grid is the net.
    """
    program, net = tl.program_id(0), tl.program_id(1)
    k = tl.arange(0, N_SQUARES)
    per_net = C.gradient_size // COLUMNS
    in_net = k % per_net
    is_weight = (k < 2 * per_net) & (in_net < C.net_size // COLUMNS)
    square = tl.load(squares + k, mask=is_weight, other=0.0)
    norm = tl.sqrt(tl.sum(square, 0))
    limit = tl.load(hyper + 6)
    step = (tl.load(counters + 1) + m + 1).to(tl.float64)
    # In double precision: 1 - beta^step would lose its first digits in single precision.
    correction1 = (1.0 - tl.exp(step * LOG_BETA1)).to(tl.float32)
    correction2 = (1.0 - tl.exp(step * LOG_BETA2)).to(tl.float32)
    lr = tl.load(hyper)
    at = program * BLOCK + tl.arange(0, BLOCK)
    inside = at < C.net_size
    place = net * C.net_size + at
    g = tl.load(gradient + net * C.gradient_size + at, mask=inside, other=0.0)
    g *= tl.minimum(1.0, limit / (norm + 1.0e-6))
    p = tl.load(P + place, mask=inside, other=0.0)
    if WEIGHT_DECAY != 0.0:
        if IS_DECOUPLED:
            p *= 1.0 - lr * WEIGHT_DECAY
        else:
            g += WEIGHT_DECAY * p
    first = tl.load(exp_avg + place, mask=inside, other=0.0)
    second = tl.load(exp_avg_sq + place, mask=inside, other=0.0)
    first += (1.0 - BETA1) * (g - first)
    second = BETA2 * second + (1.0 - BETA2) * g * g
    p -= lr / correction1 * first / (tl.sqrt(second) / tl.sqrt(correction2) + EPS)
    tl.store(exp_avg + place, first, mask=inside)
    tl.store(exp_avg_sq + place, second, mask=inside)
    tl.store(P + place, p, mask=inside)
    if program + net == 0:
        row = record + m * 9
        sums = gradient + C.net_size
        for s in tl.static_range(4):
            tl.store(row + s, tl.load(sums + s) / N_SAMPLES)
        tl.store(row + 4, tl.load(sums + C.gradient_size) / N_SAMPLES)
        is_head = in_net >= C.w3 // COLUMNS
        tl.store(row + 5, tl.sum(tl.where(is_head & (k < per_net), square, 0.0), 0))
        tl.store(row + 6, tl.sum(tl.where(is_head & (k >= per_net), square, 0.0), 0))
        tl.store(row + 7, tl.sum(tl.where(is_head, 0.0, square), 0))
        tl.store(row + 8, tl.where(norm > limit, 1.0, 0.0))


@triton.jit(do_not_specialize=["N_MINIBATCHES", "N_PROGRAMS"])
def record_kernel(
    record,
    moments,
    totals,
    counters,
    N_MINIBATCHES,
    N_PROGRAMS,
    SIZE,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Add what an iteration did to the totals of the run, and count it.

    Args:
        record: (N_MINIBATCHES, 9) of `adam_kernel`.
        moments: (N_PROGRAMS, 5) of `returns_kernel`.
        totals: (18,) float64, added to: sums over minibatches of the terms of `record`, with the
            norms of actor head, critic head, trunk and all of it in place of squares (10 numbers);
            sums over iterations of mean and deviation of advantages, mean and deviation of
            returns, mean reward, explained variance where it is defined, and how often it is
            (7 numbers); number of iterations.
        counters: int32: number of the iteration, optimiser steps; both moved on.
        N_MINIBATCHES: Of the iteration.
        N_PROGRAMS: Of `returns_kernel`.
        SIZE: Samples of the rollout.
        BLOCK: Programs at a time.
        ROWS: Minibatches at a time.
    """
    for k in tl.static_range(5):
        total = tl.zeros([ROWS], tl.float64)
        for start in range(0, N_MINIBATCHES, ROWS):
            row = start + tl.arange(0, ROWS)
            total += tl.load(record + row * 9 + k, mask=row < N_MINIBATCHES, other=0.0)
        tl.store(totals + k, tl.load(totals + k) + tl.sum(total, 0))
    actor, critic = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    trunk, whole = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    clipped = tl.zeros([ROWS], tl.float64)
    for start in range(0, N_MINIBATCHES, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = row < N_MINIBATCHES
        a = tl.load(record + row * 9 + 5, mask=mask, other=0.0)
        b = tl.load(record + row * 9 + 6, mask=mask, other=0.0)
        c = tl.load(record + row * 9 + 7, mask=mask, other=0.0)
        actor += tl.sqrt(a)
        critic += tl.sqrt(b)
        trunk += tl.sqrt(c)
        whole += tl.sqrt(a + b + c)
        clipped += tl.load(record + row * 9 + 8, mask=mask, other=0.0)
    tl.store(totals + 5, tl.load(totals + 5) + tl.sum(actor, 0))
    tl.store(totals + 6, tl.load(totals + 6) + tl.sum(critic, 0))
    tl.store(totals + 7, tl.load(totals + 7) + tl.sum(trunk, 0))
    tl.store(totals + 8, tl.load(totals + 8) + tl.sum(whole, 0))
    tl.store(totals + 9, tl.load(totals + 9) + tl.sum(clipped, 0))
    sum_a, sum_aa = tl.zeros([BLOCK], tl.float64), tl.zeros([BLOCK], tl.float64)
    sum_r, sum_rr = tl.zeros([BLOCK], tl.float64), tl.zeros([BLOCK], tl.float64)
    reward = tl.zeros([BLOCK], tl.float64)
    for start in range(0, N_PROGRAMS, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < N_PROGRAMS
        sum_a += tl.load(moments + at * 5, mask=mask, other=0.0)
        sum_aa += tl.load(moments + at * 5 + 1, mask=mask, other=0.0)
        sum_r += tl.load(moments + at * 5 + 2, mask=mask, other=0.0)
        sum_rr += tl.load(moments + at * 5 + 3, mask=mask, other=0.0)
        reward += tl.load(moments + at * 5 + 4, mask=mask, other=0.0)
    mean_a, mean_r = tl.sum(sum_a, 0) / SIZE, tl.sum(sum_r, 0) / SIZE
    variance_a = tl.maximum(tl.sum(sum_aa, 0) / SIZE - mean_a * mean_a, 0.0)
    variance_r = tl.maximum(tl.sum(sum_rr, 0) / SIZE - mean_r * mean_r, 0.0)
    # Sums of squares in single precision carry about 1e-6 of the squared mean as rounding.
    is_defined = variance_r > 1.0e-5 * mean_r * mean_r
    explained = 1.0 - variance_a / tl.where(is_defined, variance_r, 1.0)
    tl.store(totals + 10, tl.load(totals + 10) + mean_a)
    tl.store(totals + 11, tl.load(totals + 11) + tl.sqrt(variance_a))
    tl.store(totals + 12, tl.load(totals + 12) + mean_r)
    tl.store(totals + 13, tl.load(totals + 13) + tl.sqrt(variance_r))
    tl.store(totals + 14, tl.load(totals + 14) + tl.sum(reward, 0) / SIZE)
    tl.store(totals + 15, tl.load(totals + 15) + tl.where(is_defined, explained, 0.0))
    tl.store(totals + 16, tl.load(totals + 16) + tl.where(is_defined, 1.0, 0.0))
    tl.store(totals + 17, tl.load(totals + 17) + 1.0)
    tl.store(counters, tl.load(counters) + 1)
    # No correction of moments is left after so many steps; the number itself must not overflow.
    tl.store(counters + 1, tl.minimum(tl.load(counters + 1) + N_MINIBATCHES, 1 << 30))
