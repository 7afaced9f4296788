# ruff: noqa: N803, PLR0913, PLR0915, PLR0912, C901 - capitals are a kernel's constants, of which there are many
"""The gradient of one minibatch: gather, forward, loss and backward without leaving the chip.

Everything is transposed: hidden units are rows, samples are columns. Weight gradients then take
their left operand from registers. Operands of matrix products have half precision, sums have single
precision. The gradient of the loss is divided by the number of samples only at the very end, so
that it stays where half precision is good.
"""

from __future__ import annotations

import triton
import triton.language as tl

from agents.ppo.fused.kernels.arithmetic import activate, multiply_by_slope, shuffle
from agents.ppo.fused.kernels.returns import shuffle_key


@triton.jit
def _standardization(partial, advantages, m, n, N_PARTS: tl.constexpr, MODE: tl.constexpr):
    """Return shift and scale that give the advantages mean 0 and standard deviation 1."""
    if MODE == 0:
        shift, scale = 0.0, 1.0
    else:
        k = tl.arange(0, N_PARTS)
        s1 = tl.sum(tl.load(partial + (m * 2) * N_PARTS + k), 0)
        s2 = tl.sum(tl.load(partial + (m * 2 + 1) * N_PARTS + k), 0)
        off = s1 / n
        std = tl.sqrt(tl.maximum(s2 - s1 * off, 0.0) / tl.maximum(n - 1.0, 1.0))
        shift = tl.load(advantages) + off
        # 9.5e-07 is 8 steps of float32's grid: less than that is rounding, not variation.
        varies = std > 9.5367431640625e-07 * tl.abs(shift)
        scale = tl.where(varies, 1.0 / (std + 1.0e-8), 0.0)
    return shift, scale


@triton.jit
def _surrogate(logprob, old_logprob, advantage, clip_range):
    """Return loss, its slope in logprob, the estimate of the divergence, and whether it clipped."""
    log_ratio = logprob - old_logprob
    ratio = tl.exp(log_ratio)
    gain = ratio * advantage
    bound = tl.where(advantage > 0, advantage * (1.0 + clip_range), advantage * (1.0 - clip_range))
    slope = tl.where(gain <= bound, -gain, 0.0)
    clipped = (tl.abs(ratio - 1.0) > clip_range).to(tl.float32)
    return -tl.minimum(gain, bound), slope, ratio - 1.0 - log_ratio, clipped


@triton.jit
def _narrow_head(z, is_actor, action, old_logprob, target, log_std, hyper, C: tl.constexpr):
    """Loss and slope of one output z (B,).

    Args:
        z: (B,) outputs: the difference of two logits, the mean of one number, or the value.
        is_actor: Scalar bool.
        action: (B,) 0 or 1, or the drawn number.
        old_logprob: (B,)
        target: (B,) standardised advantage, or returns.
        log_std: Scalar.
        hyper: Scalars clip_range, ent_coef, vf_coef.
        C: Layout.

    Returns:
        Slopes in z and in log_std, and the sums' terms, (B,) each.
    """
    clip_range, ent_coef, vf_coef = hyper
    if C.kind == 0:
        sign = tl.where(action > 0.5, 1.0, -1.0)
        margin = tl.maximum(sign * z, -60.0)
        q = tl.exp(-margin)
        other = q / (1.0 + q)  # probability of the action that was not taken
        logprob = -tl.log(1.0 + q)
        loss, slope, kl, clipped = _surrogate(logprob, old_logprob, target, clip_range)
        entropy = other * margin - logprob
        g = slope * sign * other + ent_coef * z * other * (1.0 - other)
        g_log_std = tl.zeros_like(z)
    else:
        inverse = tl.exp(-log_std)
        distance = (action - z) * inverse
        # log(2 pi) / 2, and one half more than that.
        logprob = -0.5 * distance * distance - log_std - 0.9189385332046727
        loss, slope, kl, clipped = _surrogate(logprob, old_logprob, target, clip_range)
        entropy = tl.zeros_like(z) + (log_std + 1.4189385332046727)
        g = slope * distance * inverse
        g_log_std = tl.where(is_actor, slope * (distance * distance - 1.0) - ent_coef, 0.0)
    error = z - target
    g = tl.where(is_actor, g, 2.0 * vf_coef * error)
    loss = tl.where(is_actor, loss, error * error)
    return g, g_log_std, loss, entropy, kl, clipped


@triton.jit
def _wide_head(z, is_actor, action, old_logprob, target, log_std, hyper, C: tl.constexpr):
    """Do the same for outputs z (R, B), of which C.n_outputs rows from C.head_column on count.

    `action` is the chosen index, (B,), or the drawn numbers, (R, B), in the rows of their means.
    Returns the slopes (R, B), of `log_std` too, and the sums' terms (B,).
    """
    clip_range, ent_coef, vf_coef = hyper
    r = tl.arange(0, C.head_width)[:, None]
    used = (r >= C.head_column) & (r < C.head_column + C.n_outputs)
    if C.kind == 1:
        logits = tl.where(used, z, -1.0e30)
        top = tl.max(logits, 0)
        weight = tl.exp(logits - top[None, :])
        total = tl.sum(weight, 0)
        p = weight / total[None, :]
        logprobs = tl.where(used, logits - (top + tl.log(total))[None, :], 0.0)
        chosen = r == (action.to(tl.int32) + C.head_column)[None, :]
        logprob = tl.sum(tl.where(chosen, logprobs, 0.0), 0)
        entropy = -tl.sum(p * logprobs, 0)
        loss, slope, kl, clipped = _surrogate(logprob, old_logprob, target, clip_range)
        g = slope[None, :] * (tl.where(chosen, 1.0, 0.0) - p)
        g += ent_coef * p * (logprobs + entropy[None, :])
        g_log_std = tl.zeros_like(z)
    else:
        inverse = tl.exp(-log_std)[:, None]
        distance = tl.where(used, (action - z) * inverse, 0.0)
        # 0.9189385332046727 is log(2 pi) / 2.
        density = -0.5 * distance * distance - log_std[:, None] - 0.9189385332046727
        logprob = tl.sum(tl.where(used, density, 0.0), 0)
        spread = tl.where(used, log_std[:, None] + 1.4189385332046727, 0.0) + tl.zeros_like(z)
        entropy = tl.sum(spread, 0)
        loss, slope, kl, clipped = _surrogate(logprob, old_logprob, target, clip_range)
        g = slope[None, :] * distance * inverse
        g_log_std = slope[None, :] * (distance * distance - 1.0) - ent_coef
        g_log_std = tl.where(used & is_actor, g_log_std, 0.0)
    first = r == C.head_column
    value = tl.sum(tl.where(first, z, 0.0), 0)
    error = value - target
    g = tl.where(is_actor, g, tl.where(first, (2.0 * vf_coef * error)[None, :], 0.0))
    loss = tl.where(is_actor, loss, error * error)
    g = tl.where(used, g, 0.0)
    return g, g_log_std, loss, entropy, kl, clipped


@triton.jit(do_not_specialize=["m", "N_MINIBATCHES", "N_EPOCHS", "N_PROGRAMS", "LOW_BITS", "HIGH"])
def gradient_kernel(
    P,
    samples,
    advantages,
    partial,
    gradients,
    hyper,
    counters,
    seed,
    m,
    SIZE,
    LOW_BITS,
    HIGH,
    N_SAMPLES,
    N_MINIBATCHES,
    N_EPOCHS,
    N_PROGRAMS,
    C: tl.constexpr,
    N_PARTS: tl.constexpr,
    WALK: tl.constexpr,
    MODE: tl.constexpr,
    RAGGED: tl.constexpr,
    BLOCK: tl.constexpr,
    DT: tl.constexpr,
    FAST: tl.constexpr,
):
    """Write one partial gradient a program. Axis 1 of the grid is the net: 0 actor, 1 critic.

    Args:
        P: (2 * net_size,) parameters.
        samples: (SIZE, stride).
        advantages: (SIZE,); the first one is what `partial` counts from.
        partial: Moments of the advantages of each minibatch.
        gradients: (2, N_PROGRAMS, gradient_size), written: gradient of the mean loss, then the sums
            over samples of loss, entropy, divergence estimate and clipped samples.
        hyper: float32 hyperparameters.
        counters: int32, the number of the iteration first.
        seed: Of the shuffle.
        m: Minibatch of the iteration.
        SIZE: Samples of the rollout; `LOW_BITS`, `HIGH` and `WALK` belong to `shuffle`.
        LOW_BITS: See `shuffle`.
        HIGH: See `shuffle`.
        N_SAMPLES: Of one minibatch.
        N_MINIBATCHES: Of one epoch.
        N_EPOCHS: Of one iteration.
        N_PROGRAMS: Of one net.
        C: Layout.
        N_PARTS: Of the moments.
        WALK: See `shuffle`.
        MODE: Advantages as they are (0), standardised over the minibatch (1) or the rollout (2).
        RAGGED: Whether BLOCK leaves a rest of N_SAMPLES.
        BLOCK: Samples at a time.
        DT: Type of the operands of matrix products.
        FAST: Whether tanh may be the hardware's.
    """
    program, net = tl.program_id(0), tl.program_id(1)
    is_actor = net == 0
    key = shuffle_key(counters, seed, m, N_MINIBATCHES, N_EPOCHS)
    n = N_SAMPLES.to(tl.float32)
    clip_range = tl.load(hyper + 3)
    ent_coef = tl.load(hyper + 4)
    vf_coef = tl.load(hyper + 5)
    knobs = (clip_range, ent_coef, vf_coef)
    if MODE == 2:
        n_moments = SIZE.to(tl.float32)
        shift, scale = _standardization(partial, advantages, 0, n_moments, N_PARTS, MODE)
    else:
        shift, scale = _standardization(partial, advantages, m, n, N_PARTS, MODE)
    P += net * C.net_size
    c, r = tl.arange(0, C.width), tl.arange(0, C.head_width)
    i, j = tl.arange(0, C.h1), tl.arange(0, C.h2)
    w1 = tl.load(P + c[None, :] * C.h1 + i[:, None], mask=c[None, :] <= C.n_inputs, other=0.0).to(
        DT
    )
    if C.n_layers == 2:
        w2 = tl.load(P + C.w2 + j[:, None] + i[None, :] * C.h2).to(DT)
        w2_back = tl.load(P + C.w2 + j[None, :] + i[:, None] * C.h2).to(DT)
        b2 = tl.load(P + C.b2 + j)
        g_w2 = tl.zeros([C.h2, C.h1], tl.float32)
    if C.kind == 0:
        rows = j[None, :] + r[:, None] * 0
        w3_rows = (tl.load(P + C.w3 + C.h2 + rows) - tl.load(P + C.w3 + rows)).to(DT)
        w3 = (tl.load(P + C.w3 + C.h2 + j) - tl.load(P + C.w3 + j)).to(DT)
        b3 = tl.load(P + C.b3 + 1) - tl.load(P + C.b3)
        # The critic's only row is row 0, the subtrahend.
        turn = tl.where(is_actor, 1.0, -1.0)
        w3_rows, w3, b3 = w3_rows * turn.to(DT), w3 * turn.to(DT), b3 * turn
        log_std = 0.0
    elif C.is_narrow:
        w3_rows = tl.load(P + C.w3 + j[None, :] + r[:, None] * 0).to(DT)
        w3 = tl.load(P + C.w3 + j).to(DT)
        b3, log_std = tl.load(P + C.b3), tl.load(P + C.log_std)
    else:
        at = r - C.head_column
        used = (at >= 0) & (at < C.n_outputs)
        places = P + C.w3 + at[:, None] * C.h2 + j[None, :]
        w3_rows = tl.load(places, mask=used[:, None], other=0.0).to(DT)
        places = P + C.w3 + at[None, :] * C.h2 + j[:, None]
        w3_back = tl.load(places, mask=used[None, :], other=0.0).to(DT)
        b3 = tl.load(P + C.b3 + at, mask=used, other=0.0)
        log_std = tl.load(P + C.log_std + at, mask=used, other=0.0)
    if C.is_narrow:
        g_b3, g_log_std = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    else:
        g_b3 = tl.zeros([C.head_width, BLOCK], tl.float32)
        g_log_std = tl.zeros([C.head_width, BLOCK], tl.float32)
    g_head = tl.zeros([C.h2, C.head_width], tl.float32)
    if not C.is_shared:
        g_first = tl.zeros([C.h1, C.width], tl.float32)
    sum_loss, sum_entropy = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    sum_kl, sum_clipped = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    ones = tl.where(r[None, :] == C.bias_column, 1.0, tl.zeros([BLOCK, C.head_width], tl.float32))
    ones = ones.to(DT)
    start = (m % N_MINIBATCHES) * N_SAMPLES
    b = tl.arange(0, BLOCK)
    n_blocks = (N_SAMPLES + BLOCK - 1) // BLOCK
    is_input = c[None, :] < C.n_inputs
    place = tl.minimum(program * BLOCK + b, N_SAMPLES - 1)
    at_row = samples + shuffle(start + place, key, SIZE, LOW_BITS, HIGH, WALK) * C.stride
    x_ahead = tl.load(at_row[:, None] + c[None, :], mask=is_input, other=0.0)
    # The four numbers from the (last) action on: action, log-probability, advantage, returns.
    q = tl.arange(0, 4)[None, :]
    rest_ahead = tl.load(at_row[:, None] + (C.c_logprob - 1) + q)
    if C.kind == 2 and not C.is_narrow:
        at_action = C.c_action + at[:, None]
        action_ahead = tl.load(at_row[None, :] + at_action, mask=used[:, None], other=0.0)
    for block in range(program, n_blocks, N_PROGRAMS):
        x, rest = x_ahead, rest_ahead
        # The next block's samples are on their way while this one is worked on.
        next_block = tl.minimum(block + N_PROGRAMS, n_blocks - 1)
        place = tl.minimum(next_block * BLOCK + b, N_SAMPLES - 1)
        at_row = samples + shuffle(start + place, key, SIZE, LOW_BITS, HIGH, WALK) * C.stride
        x_ahead = tl.load(at_row[:, None] + c[None, :], mask=is_input, other=0.0)
        rest_ahead = tl.load(at_row[:, None] + (C.c_logprob - 1) + q)
        if C.kind == 2 and not C.is_narrow:
            action = action_ahead
            action_ahead = tl.load(at_row[None, :] + at_action, mask=used[:, None], other=0.0)
        else:
            action = tl.sum(tl.where(q == 0, rest, 0.0), 1)  # the only number of an action
        old_logprob = tl.sum(tl.where(q == 1, rest, 0.0), 1)
        target = tl.sum(tl.where(q == 2 + net, rest, 0.0), 1)
        x = tl.where(c[None, :] == C.n_inputs, 1.0, x).to(DT)
        target = tl.where(is_actor, (target - shift) * scale, target)
        valid = block * BLOCK + b < N_SAMPLES
        h1 = activate(tl.dot(w1, tl.trans(x)), C.is_relu, FAST).to(DT)
        h = h1
        if C.n_layers == 2:
            h = activate(tl.dot(w2, h1) + b2[:, None], C.is_relu, FAST).to(DT)
        z = tl.dot(w3_rows, h)
        if C.is_narrow:
            # All rows are equal. The gather changes nothing but makes Triton spread (B,) over the
            # threads instead of computing it several times.
            z = tl.gather(tl.max(z, 0), b, 0) + b3
            g, g_std, loss, entropy, kl, clipped = _narrow_head(
                z, is_actor, action, old_logprob, target, log_std, knobs, C
            )
            if RAGGED:
                g, g_std = tl.where(valid, g, 0.0), tl.where(valid, g_std, 0.0)
            g_b3 += g
            if C.kind == 2:
                g_log_std += g_std
            spread = tl.where(r[None, :] == C.head_column, g[:, None], 0.0).to(DT)
            g_h = g.to(DT)[None, :] * w3[:, None]
        else:
            g, g_std, loss, entropy, kl, clipped = _wide_head(
                z + b3[:, None], is_actor, action, old_logprob, target, log_std, knobs, C
            )
            if RAGGED:
                g, g_std = tl.where(valid[None, :], g, 0.0), tl.where(valid[None, :], g_std, 0.0)
            g_b3 += g
            if C.kind == 2:
                g_log_std += g_std
            spread = tl.trans(g.to(DT))
            g_h = tl.dot(w3_back, g.to(DT)).to(DT)
        if RAGGED:
            loss, entropy = tl.where(valid, loss, 0.0), tl.where(valid, entropy, 0.0)
            kl, clipped = tl.where(valid, kl, 0.0), tl.where(valid, clipped, 0.0)
        sum_loss += loss
        sum_entropy += entropy
        sum_kl += kl
        sum_clipped += clipped
        g_head = tl.dot(h, spread, g_head)
        dz = multiply_by_slope(g_h, h, C.is_relu, FAST).to(DT)
        if C.n_layers == 2:
            g_h1 = tl.dot(w2_back, dz)
            g_head = tl.dot(dz, ones, g_head)
            g_w2 = tl.dot(dz, tl.trans(h1), g_w2)
            dz = multiply_by_slope(g_h1.to(DT), h1, C.is_relu, FAST).to(DT)
        if C.is_shared:
            g_head = tl.dot(dz, x, g_head)
        else:
            g_first = tl.dot(dz, x, g_first)
    out = gradients + (net * N_PROGRAMS + program) * C.gradient_size
    inverse = 1.0 / n
    if C.is_shared:
        g_first = g_head
    tl.store(out + c[None, :] * C.h1 + i[:, None], g_first * inverse, mask=c[None, :] <= C.n_inputs)
    if C.n_layers == 2:
        tl.store(out + C.w2 + j[:, None] + i[None, :] * C.h2, g_w2 * inverse)
        g_b2 = tl.sum(tl.where(r[None, :] == C.bias_column, g_head, 0.0), 1)
        tl.store(out + C.b2 + j, g_b2 * inverse)
    if C.kind == 0:
        g_w3 = tl.sum(tl.where(r[None, :] == C.head_column, g_head, 0.0), 1) * inverse
        # The actor's logits get opposite gradients, the critic's value is row 0.
        tl.store(out + C.w3 + j, tl.where(is_actor, -g_w3, g_w3))
        tl.store(out + C.w3 + C.h2 + j, tl.where(is_actor, g_w3, 0.0))
        total = tl.sum(g_b3, 0) * inverse
        tl.store(out + C.b3, tl.where(is_actor, -total, total))
        tl.store(out + C.b3 + 1, tl.where(is_actor, total, 0.0))
    elif C.is_narrow:
        g_w3 = tl.sum(tl.where(r[None, :] == C.head_column, g_head, 0.0), 1)
        tl.store(out + C.w3 + j, g_w3 * inverse)
        tl.store(out + C.b3, tl.sum(g_b3, 0) * inverse)
        tl.store(out + C.log_std, tl.sum(g_log_std, 0) * inverse)
    else:
        places = out + C.w3 + (r - C.head_column)[None, :] * C.h2 + j[:, None]
        tl.store(places, g_head * inverse, mask=used[None, :])
        tl.store(out + C.b3 + at, tl.sum(g_b3, 1) * inverse, mask=used)
        if C.kind == 2:
            tl.store(out + C.log_std + at, tl.sum(g_log_std, 1) * inverse, mask=used)
    sums = out + C.net_size
    tl.store(sums, tl.sum(sum_loss, 0))
    tl.store(sums + 1, tl.sum(sum_entropy, 0))
    tl.store(sums + 2, tl.sum(sum_kl, 0))
    tl.store(sums + 3, tl.sum(sum_clipped, 0))
