# ruff: noqa: N803, PLR0913, PLR0915 - capitals are a kernel's constants, of which there are many
"""Values, advantages and their moments."""

from __future__ import annotations

import triton
import triton.language as tl

from agents.ppo.fused.kernels.arithmetic import shuffle
from agents.ppo.fused.kernels.network import (
    hidden_units,
    input_tile,
    load_first_layer,
    load_input_tile,
    load_second_layer,
    scale_observation,
)
from agents.ppo.fused.kernels.rollout import RUNNING, TERMINATED, TRUNCATED, load_state


@triton.jit
def _value(x, w1, w2, b2, w3, b3, C: tl.constexpr, DT: tl.constexpr, FAST: tl.constexpr):
    h = hidden_units(x, w1, w2, b2, C.n_layers, C.is_relu, DT, FAST)
    return tl.sum(h * w3[None, :], 1) + b3


@triton.jit
def returns_kernel(
    P,
    state,
    hyper,
    samples,
    final,
    flags,
    advantages,
    moments,
    N,
    T,
    C: tl.constexpr,
    E: tl.constexpr,
    OBSERVE: tl.constexpr,
    BLOCK: tl.constexpr,
    DT: tl.constexpr,
    FAST: tl.constexpr,
):
    """Sweep back through time: the critic's values, which are never stored, and GAE.

    A truncated episode bootstraps from the value of its final observation, a terminated one from 0.

    Args:
        P: Parameters of both nets; the critic's are read.
        state: (n_state, N) after the rollout.
        hyper: float32 hyperparameters (see `HYPERPARAMETERS` of the loop).
        samples: (T * N, stride); advantage and returns are written.
        final: (T * N, n_inputs), read where an episode was truncated.
        flags: (T * N,) int8.
        advantages: (T * N,) float32, the advantages once more, by themselves.
        moments: (programs, 5) float32: sums of advantage, square, returns, square, reward.
        N: Number of environments.
        T: Number of steps.
        C: Layout.
        E: Constants of the environment.
        OBSERVE: Physics.
        BLOCK: Environments of one program.
        DT: Type of the operands of matrix products.
        FAST: Whether tanh may be the hardware's.
    """
    program = tl.program_id(0)
    e = program * BLOCK + tl.arange(0, BLOCK)
    inside = e < N
    gamma = tl.load(hyper + 1)
    decay = gamma * tl.load(hyper + 2)
    P += C.net_size
    w1 = load_first_layer(P, C.n_inputs, C.width, C.h1, DT)
    if C.n_layers == 2:
        w2, b2 = load_second_layer(P, C.w2, C.b2, C.h1, C.h2, DT)
    else:
        w2, b2 = w1, w1
    w3, b3 = tl.load(P + C.w3 + tl.arange(0, C.h2)), tl.load(P + C.b3)
    observation = OBSERVE(*load_state(state, e, inside, N, E.n_state))
    observation = scale_observation(observation, E, C.n_inputs)
    x = input_tile(observation, C.n_inputs, C.width, DT)
    next_value = _value(x, w1, w2, b2, w3, b3, C, DT, FAST)
    advantage = tl.zeros([BLOCK], tl.float32)
    sum_a, sum_aa = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    sum_r, sum_rr = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    sum_reward = tl.zeros([BLOCK], tl.float32)
    for i in range(T):
        row = (T - 1 - i) * N + e
        flag = tl.load(flags + row, mask=inside, other=0)
        place = samples + row * C.stride
        reward = tl.load(place + C.c_advantage, mask=inside, other=0.0)
        x = load_input_tile(samples, row, inside, C.stride, C.n_inputs, C.width, DT)
        value = _value(x, w1, w2, b2, w3, b3, C, DT, FAST)
        if tl.max((flag == TRUNCATED).to(tl.int32), 0) > 0:
            x = load_input_tile(
                final, row, inside & (flag == TRUNCATED), C.n_inputs, C.n_inputs, C.width, DT
            )
            last_value = _value(x, w1, w2, b2, w3, b3, C, DT, FAST)
            next_value = tl.where(flag == TRUNCATED, last_value, next_value)
        delta = reward + gamma * tl.where(flag == TERMINATED, 0.0, next_value) - value
        advantage = delta + decay * tl.where(flag == RUNNING, advantage, 0.0)
        returns = advantage + value
        tl.store(place + C.c_advantage, advantage, mask=inside)
        tl.store(place + C.c_returns, returns, mask=inside)
        tl.store(advantages + row, advantage, mask=inside)
        next_value = value
        counted = tl.where(inside, advantage, 0.0)
        counted_returns = tl.where(inside, returns, 0.0)
        sum_a += counted
        sum_aa += counted * counted
        sum_r += counted_returns
        sum_rr += counted_returns * counted_returns
        sum_reward += reward
    ptr = moments + program * 5
    tl.store(ptr, tl.sum(sum_a, 0))
    tl.store(ptr + 1, tl.sum(sum_aa, 0))
    tl.store(ptr + 2, tl.sum(sum_r, 0))
    tl.store(ptr + 3, tl.sum(sum_rr, 0))
    tl.store(ptr + 4, tl.sum(sum_reward, 0))


@triton.jit
def minibatch_moments_kernel(
    advantages,
    partial,
    counters,
    seed,
    SIZE,
    LOW_BITS,
    HIGH,
    N_SAMPLES,
    N_MINIBATCHES,
    N_EPOCHS,
    N_PARTS: tl.constexpr,
    WALK: tl.constexpr,
    SHUFFLED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Sum the advantages of every minibatch of the iteration, and their squares.

    Both of the difference to the rollout's first advantage, so that a mean far from 0 costs no
    digits. Axis 0 of the grid is the minibatch, axis 1 its N_PARTS parts.

    Args:
        advantages: (SIZE,) float32.
        partial: (minibatches, 2, N_PARTS) float32, written.
        counters: int32, the number of the iteration first.
        seed: Of the shuffle.
        SIZE: Samples of the rollout; `LOW_BITS`, `HIGH` and `WALK` belong to `shuffle`.
        LOW_BITS: See `shuffle`.
        HIGH: See `shuffle`.
        N_SAMPLES: Of one minibatch.
        N_MINIBATCHES: Of one epoch.
        N_EPOCHS: Of one iteration.
        N_PARTS: Programs of one minibatch.
        WALK: See `shuffle`.
        SHUFFLED: False where the only minibatch is the whole rollout.
        BLOCK: Samples at a time.
    """
    m, part = tl.program_id(0), tl.program_id(1)
    key = shuffle_key(counters, seed, m, N_MINIBATCHES, N_EPOCHS)
    pivot = tl.load(advantages)
    sum_a, sum_aa = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for start in range(part * BLOCK, N_SAMPLES, N_PARTS * BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < N_SAMPLES
        row = (m % N_MINIBATCHES) * N_SAMPLES + tl.where(inside, at, 0)
        if SHUFFLED:
            row = shuffle(row, key, SIZE, LOW_BITS, HIGH, WALK)
        a = tl.load(advantages + row, mask=inside, other=0.0)
        a = tl.where(inside, a - pivot, 0.0)
        sum_a += a
        sum_aa += a * a
    tl.store(partial + (m * 2) * N_PARTS + part, tl.sum(sum_a, 0))
    tl.store(partial + (m * 2 + 1) * N_PARTS + part, tl.sum(sum_aa, 0))


@triton.jit
def shuffle_key(counters, seed, m, N_MINIBATCHES, N_EPOCHS):
    """Return the key of the shuffle of minibatch m's epoch in this iteration."""
    return seed + tl.load(counters) * N_EPOCHS + m // N_MINIBATCHES
