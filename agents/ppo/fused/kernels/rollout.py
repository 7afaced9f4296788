# ruff: noqa: N803, PLR0913, PLR0915, PLR0912, C901 - capitals are a kernel's constants, of which there are many
"""T steps of every environment, with the policy that acts in them, in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl

from agents.ppo.fused.kernels.arithmetic import normal_pair, uniform
from agents.ppo.fused.kernels.network import (
    hidden_units,
    input_tile,
    load_first_layer,
    load_second_layer,
    scale_observation,
)

RUNNING, TERMINATED, TRUNCATED = (tl.constexpr(flag) for flag in range(3))


@triton.jit
def load_state(state, e, mask, N, N_STATE: tl.constexpr):
    """Load the state variables of environments e from (N_STATE, N) as a tuple of blocks."""
    values = ()
    for k in tl.static_range(N_STATE):
        values = values + (tl.load(state + k * N + e, mask=mask, other=0.0),)  # noqa: RUF005
    return values


@triton.jit
def _draw_binary(h, w3, b3, bits):
    """Draw 0 or 1; return the action as a number and its log-probability."""
    z = tl.sum(h * w3[None, :], 1) + b3
    chosen = uniform(bits) < 1.0 / (1.0 + tl.exp(-z))
    logprob = -tl.log(1.0 + tl.exp(tl.where(chosen, -z, z)))
    return tl.where(chosen, 1.0, 0.0), logprob


@triton.jit
def _draw_category(z, bits, C: tl.constexpr):
    """Draw from softmax(z), z (B, 16) with C.n_outputs columns in use, by inverting its sums."""
    c = tl.arange(0, 16)[None, :]
    z = tl.where(c < C.n_outputs, z, -1.0e30)
    weight = tl.exp(z - tl.max(z, 1)[:, None])
    total = tl.sum(weight, 1)
    below = tl.cumsum(weight, 1) <= (uniform(bits) * total)[:, None]
    action = tl.sum((below & (c < C.n_outputs - 1)).to(tl.int32), 1)
    chosen = tl.sum(tl.where(c == action[:, None], z, 0.0), 1)
    return action.to(tl.float32), chosen - tl.max(z, 1) - tl.log(total)


@triton.jit
def _draw_normal(mean, log_std, seed, row, iteration, C: tl.constexpr):
    """Draw from the normal with mean (B, 16) and log_std (16,), C.n_outputs columns in use."""
    c = tl.arange(0, 16)[None, :]
    noise = tl.zeros_like(mean)
    for group in tl.static_range((C.n_outputs + 3) // 4):
        w0, w1, w2, w3 = tl.philox(seed, row, iteration, 1, group)
        n0, n1 = normal_pair(w0, w1)
        n2, n3 = normal_pair(w2, w3)
        noise = tl.where(c == 4 * group, n0[:, None], noise)
        noise = tl.where(c == 4 * group + 1, n1[:, None], noise)
        noise = tl.where(c == 4 * group + 2, n2[:, None], noise)
        noise = tl.where(c == 4 * group + 3, n3[:, None], noise)
    # 0.9189385332046727 is log(2 pi) / 2.
    density = -0.5 * noise * noise - log_std[None, :] - 0.9189385332046727
    logprob = tl.sum(tl.where(c < C.n_outputs, density, 0.0), 1)
    return mean + tl.exp(log_std)[None, :] * noise, logprob


@triton.jit
def rollout_kernel(
    P,
    state,
    elapsed,
    episode_return,
    episode,
    env_seed,
    counters,
    seed,
    samples,
    final,
    flags,
    episodes,
    N,
    T,
    MAX_STEPS,
    C: tl.constexpr,
    E: tl.constexpr,
    TRANSITION: tl.constexpr,
    OBSERVE: tl.constexpr,
    REWARD_SCALE: tl.constexpr,
    BLOCK: tl.constexpr,
    DT: tl.constexpr,
    FAST: tl.constexpr,
):
    """Step BLOCK environments a program; their state never leaves the chip meanwhile.

    Args:
        P: Parameters of both nets; the actor's are read.
        state: (n_state, N) float32, the environment's, as are the next four.
        elapsed: (N,) int32, steps of the running episodes.
        episode_return: (N,) float32, their rewards so far.
        episode: (N,) int32, their numbers.
        env_seed: (1,) int64, decides with number and environment in which state one begins.
        counters: int32: number of this iteration, optimiser steps.
        seed: Of the actions.
        samples: (T * N, stride) rows; all but advantage and returns are written, and the reward
            where the advantage will be.
        final: (T * N, n_inputs) observations that truncated episodes ended with.
        flags: (T * N,) int8, how each step left its episode.
        episodes: (programs, 5) float32 of episodes that ended: sum of returns, number, smallest
            and largest return, sum of lengths; added to.
        N: Number of environments.
        T: Number of steps.
        MAX_STEPS: Steps that truncate an episode.
        C: Layout.
        E: Constants of the environment (see `EnvironmentConstants`).
        TRANSITION: Physics.
        OBSERVE: Physics.
        REWARD_SCALE: Factor on what the learner is paid; episodes are counted in raw rewards.
        BLOCK: Environments of one program.
        DT: Type of the operands of matrix products.
        FAST: Whether tanh may be the hardware's.
    """
    program = tl.program_id(0)
    e = program * BLOCK + tl.arange(0, BLOCK)
    inside = e < N
    iteration = tl.load(counters)
    first_seed = tl.load(env_seed)
    values = load_state(state, e, inside, N, E.n_state)
    steps = tl.load(elapsed + e, mask=inside, other=0)
    total = tl.load(episode_return + e, mask=inside, other=0.0)
    number = tl.load(episode + e, mask=inside, other=0)
    w1 = load_first_layer(P, C.n_inputs, C.width, C.h1, DT)
    if C.n_layers == 2:
        w2, b2 = load_second_layer(P, C.w2, C.b2, C.h1, C.h2, DT)
    else:
        w2, b2 = w1, w1
    j, c = tl.arange(0, C.h2), tl.arange(0, 16)
    if C.kind == 0:
        w3 = tl.load(P + C.w3 + C.h2 + j) - tl.load(P + C.w3 + j)
        b3 = tl.load(P + C.b3 + 1) - tl.load(P + C.b3)
    else:
        w3 = tl.load(
            P + C.w3 + c[None, :] * C.h2 + j[:, None], mask=c[None, :] < C.n_outputs, other=0.0
        ).to(DT)
        b3 = tl.load(P + C.b3 + c)
    log_std = tl.load(P + C.log_std + c)
    s = tl.arange(0, C.stride)[None, :]
    sum_return, sum_length = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    n_ended = tl.zeros([BLOCK], tl.float32)
    low_return = tl.full([BLOCK], float("inf"), tl.float32)
    high_return = tl.full([BLOCK], float("-inf"), tl.float32)
    for t in range(T):
        row = t * N + e
        observation = scale_observation(OBSERVE(*values), E, C.n_inputs)
        x = input_tile(observation, C.n_inputs, C.width, DT)
        h = hidden_units(x, w1, w2, b2, C.n_layers, C.is_relu, DT, FAST)
        if C.kind == 0:
            bits, _, _, _ = tl.philox(seed, row, iteration, 0, 0)
            action, logprob = _draw_binary(h, w3, b3, bits)
        elif C.kind == 1:
            bits, _, _, _ = tl.philox(seed, row, iteration, 0, 0)
            action, logprob = _draw_category(tl.dot(h.to(DT), w3) + b3[None, :], bits, C)
        else:
            mean = tl.dot(h.to(DT), w3) + b3[None, :]
            actions, logprob = _draw_normal(mean, log_std, seed, row, iteration, C)
            action = tl.sum(tl.where(c[None, :] == 0, actions, 0.0), 1)
        # The environment gets its action within bounds; the sample keeps what was drawn.
        given = action
        if C.kind == 2:
            given = tl.minimum(tl.maximum(action, -E.action_limit), E.action_limit)
        out = TRANSITION(*values, given)
        reward = out[E.n_state] + tl.zeros([BLOCK], tl.float32)
        terminated = out[E.n_state + 1]
        sample = tl.where(s == C.c_logprob, logprob[:, None], 0.0)
        sample = tl.where(s == C.c_action, action[:, None], sample)
        sample = tl.where(s == C.c_advantage, (REWARD_SCALE * reward)[:, None], sample)
        for k in tl.static_range(C.n_inputs):
            sample = tl.where(s == k, observation[k][:, None], sample)
        tl.store(samples + row[:, None] * C.stride + s, sample, mask=inside[:, None])
        steps += 1
        total += reward
        done = terminated | (steps >= MAX_STEPS)
        flag = tl.where(terminated, TERMINATED, tl.where(done, TRUNCATED, RUNNING))
        tl.store(flags + row, flag.to(tl.int8), mask=inside)
        last = scale_observation(OBSERVE(*out[: E.n_state]), E, C.n_inputs)
        is_cut = done & (flag == TRUNCATED) & inside
        for k in tl.static_range(C.n_inputs):
            tl.store(final + row * C.n_inputs + k, last[k], mask=is_cut)
        ended = done & inside
        sum_return += tl.where(ended, total, 0.0)
        sum_length += tl.where(ended, steps, 0).to(tl.float32)
        n_ended += ended.to(tl.float32)
        low_return = tl.minimum(low_return, tl.where(ended, total, float("inf")))
        high_return = tl.maximum(high_return, tl.where(ended, total, float("-inf")))
        # Drawn for everyone, done or not: a branch around it trips a fault of Triton 3.6.
        number += done.to(tl.int32)
        words = tl.philox(first_seed, e, number, 0, 0)
        values = ()
        for k in tl.static_range(E.n_state):
            fresh = E.initial_low[k] + E.initial_range[k] * uniform(words[k])
            values = values + (tl.where(done, fresh, out[k]),)  # noqa: RUF005
        steps = tl.where(done, 0, steps)
        total = tl.where(done, 0.0, total)
    for k in tl.static_range(E.n_state):
        tl.store(state + k * N + e, values[k], mask=inside)
    tl.store(elapsed + e, steps, mask=inside)
    tl.store(episode_return + e, total, mask=inside)
    tl.store(episode + e, number, mask=inside)
    ptr = episodes + program * 5
    tl.store(ptr, tl.load(ptr) + tl.sum(sum_return, 0))
    tl.store(ptr + 1, tl.load(ptr + 1) + tl.sum(n_ended, 0))
    tl.store(ptr + 2, tl.minimum(tl.load(ptr + 2), tl.min(low_return, 0)))
    tl.store(ptr + 3, tl.maximum(tl.load(ptr + 3), tl.max(high_return, 0)))
    tl.store(ptr + 4, tl.load(ptr + 4) + tl.sum(sum_length, 0))
