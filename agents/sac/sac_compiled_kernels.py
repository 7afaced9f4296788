"""The compiled parts of SAC: many updates of actor, critics and temperature in one call.

The formulas are those of `sac_losses` and `utils.distributions.squashed_normal`, written for a
block of samples that lie side by side, with the gradients written out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from agents.sac.sac_compiled_passes import climb, lowest_value, scratch_of, value_block
from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.adam import AdamSettings, adam_step, clip_scale
from utils.compiled.distributions import take_columns
from utils.compiled.float32_math import HALF, ONE, TWO, ZERO, exp32, log32, tanh32
from utils.compiled.network import (
    BLOCK,
    Network,
    Scratch,
    backward,
    forward,
    row_length,
    transpose_weights,
)

_F = np.float32
_LOG_TWO = _F(math.log(2.0))
_HALF_LOG_TWO_PI = _F(0.5 * math.log(2.0 * math.pi))


class Actor(NamedTuple):
    """The actor's network and memory."""

    network: Network
    parameters: np.ndarray
    transposed: np.ndarray
    scratch: Scratch


class FlatOptimizer(NamedTuple):
    """What an Adam step reads and writes beside the parameters; flat, laid out like those."""

    gradient: np.ndarray
    moment1: np.ndarray
    moment2: np.ndarray
    settings: AdamSettings
    n_before: int
    """Steps that were taken before."""


class Batches(NamedTuple):
    """The transitions of U updates of B each, one after another; all float32 and flat."""

    observation: np.ndarray
    """(U * B * F,)"""
    next_observation: np.ndarray
    action: np.ndarray
    """(U * B * A,) in [-1, 1]"""
    reward: np.ndarray
    """(U * B,)"""
    discount: np.ndarray
    weight: np.ndarray
    """(U * B,) importance weights; empty for ones."""
    noise: np.ndarray
    """(U, 2, B * A) standard normal: for the actions of the targets, and for the actor's."""


class UpdateSettings(NamedTuple):
    """What an update depends on beside the transitions."""

    log_std_least: float
    log_std_most: float
    tau: float
    """How far the targets move after each update."""
    target_entropy: float
    learns_temperature: bool


class _Actions(NamedTuple):
    """What the actor says of a block of observations."""

    output: np.ndarray
    """(2A, BLOCK) mean and logarithm of the deviation before its bounds."""
    action: np.ndarray
    """(A, BLOCK)"""
    logprob: np.ndarray
    """(BLOCK,)"""


@njit(cache=True, error_model="numpy")
def _new_actions(n_dimensions):
    return _Actions(
        np.empty((2 * n_dimensions, BLOCK), dtype=np.float32),
        np.empty((n_dimensions, BLOCK), dtype=np.float32),
        np.empty(BLOCK, dtype=np.float32),
    )


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _softplus(x):
    return (x if x > ZERO else ZERO) + log32(ONE + exp32(-abs(x)))


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _act(actor, rows, noise, span, made, settings):
    """Draw actions for rows `span[0]` to before `span[1]`, whose noise begins at `span[2]`."""
    first, n_rows = span[0], span[1] - span[0]
    network, memory = actor.network, actor.scratch.memory
    width, n_dimensions = network.widths[0], made.action.shape[0]
    begin = actor.scratch.input_at
    for i in range(n_rows * width):
        memory[begin + i] = rows[first * width + i]
    at = forward(network, actor.parameters, actor.scratch, n_rows)
    take_columns(memory, at, row_length(2 * n_dimensions), made.output[:, :n_rows])
    least, most = _F(settings.log_std_least), _F(settings.log_std_most)
    logprob = made.logprob[:n_rows]
    logprob[:] = ZERO
    for k in range(n_dimensions):
        mean, raw, action = made.output[k], made.output[n_dimensions + k], made.action[k]
        for b in range(n_rows):
            log_std = min(max(raw[b], least), most)
            z = noise[span[2] + b * n_dimensions + k]
            u = mean[b] + exp32(log_std) * z
            action[b] = tanh32(u)
            volume = TWO * (_LOG_TWO - u - _softplus(-TWO * u))
            logprob[b] -= HALF * z * z + log_std + _HALF_LOG_TWO_PI + volume


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def learn_critics(actor, critics, gradient, batches, part, alpha, settings, errors):
    """Add the critics' gradient for some rows of a batch.

    Args:
        actor: Is asked for the actions of the next observations.
        critics: Their gradients' factors, too: `transposed` is up to date.
        gradient: Laid out like the critics' parameters; is added to.
        batches: The transitions.
        part: First row and the one after the last, number of the update, B.
        alpha: Temperature.
        settings: `UpdateSettings`.
        errors: (U * B,) mean absolute error of each transition, is written.

    Returns:
        Sums of the loss, and of the values over rows and critics.
    """
    first, last, update, batch_size = part
    n_critics = critics.parameters.shape[0]
    width = actor.network.widths[0]
    n_dimensions = critics.network.widths[0] - width
    made = _new_actions(n_dimensions)
    taken = np.empty((n_dimensions, BLOCK), dtype=np.float32)
    goal = np.empty(BLOCK, dtype=np.float32)
    value = np.empty((n_critics, BLOCK), dtype=np.float32)
    scale = _F(1.0 / batch_size)
    stride = row_length(1)
    loss, total = 0.0, 0.0
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        n_rows = end - begin
        noise_at = (begin - update * batch_size) * n_dimensions
        noise = batches.noise[update, 0]
        _act(actor, batches.next_observation, noise, (begin, end, noise_at), made, settings)
        rows = (batches.next_observation, begin, width)
        value_block(critics, critics.target, rows, made.action[:, :n_rows], value)
        for b in range(n_rows):
            lowest = lowest_value(value, b)[0]
            soft = lowest - alpha * made.logprob[b]
            goal[b] = batches.reward[begin + b] + batches.discount[begin + b] * soft
        for k in range(n_dimensions):
            for b in range(n_rows):
                taken[k, b] = batches.action[(begin + b) * n_dimensions + k]
        rows = (batches.observation, begin, width)
        value_block(critics, critics.parameters, rows, taken[:, :n_rows], value)
        errors[begin:end] = ZERO
        for e in range(n_critics):
            scratch = scratch_of(critics, e)
            memory, at = scratch.memory, scratch.delta_at
            memory[at : at + n_rows * stride] = ZERO
            for b in range(n_rows):
                difference = value[e, b] - goal[b]
                weight = ONE if batches.weight.size == 0 else batches.weight[begin + b]
                loss += HALF * weight * difference * difference
                total += value[e, b]
                errors[begin + b] += abs(difference) / n_critics
                memory[at + b * stride] = weight * difference * scale
            backward(critics.network, critics.transposed[e], gradient[e], scratch, n_rows)
    return loss, total


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def learn_actor(actor, critics, gradient, batches, part, alpha, settings):
    """Add the actor's gradient for some rows of a batch.

    With ``a = tanh(u)``, ``u = mean + std noise`` and ``L = alpha log p(a) - min_e q_e(a)``:
    ``dL/du = 2 alpha a - (1 - a^2) dq/da``, ``dL/dmean = dL/du`` and
    ``dL/dlog_std = std noise dL/du - alpha``. Only the critic of the lowest value has a part in it.

    Args:
        actor: `transposed` is up to date.
        critics: Likewise.
        gradient: Laid out like the actor's parameters; is added to.
        batches: The transitions.
        part: First row and the one after the last, number of the update, B.
        alpha: Temperature.
        settings: `UpdateSettings`.

    Returns:
        Sums of the loss and of the log-densities.
    """
    first, last, update, batch_size = part
    n_critics = critics.parameters.shape[0]
    width = actor.network.widths[0]
    n_dimensions = critics.network.widths[0] - width
    made = _new_actions(n_dimensions)
    value = np.empty((n_critics, BLOCK), dtype=np.float32)
    slope = np.empty((n_dimensions, BLOCK), dtype=np.float32)
    chosen = np.empty(BLOCK, dtype=np.int64)
    scale = _F(1.0 / batch_size)
    least, most = _F(settings.log_std_least), _F(settings.log_std_most)
    memory, at = actor.scratch.memory, actor.scratch.delta_at
    stride = row_length(2 * n_dimensions)
    loss, total = 0.0, 0.0
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        n_rows = end - begin
        noise_at = (begin - update * batch_size) * n_dimensions
        noise = batches.noise[update, 1]
        _act(actor, batches.observation, noise, (begin, end, noise_at), made, settings)
        rows = (batches.observation, begin, width)
        value_block(critics, critics.parameters, rows, made.action[:, :n_rows], value)
        for b in range(n_rows):
            lowest, chosen[b] = lowest_value(value, b)
            loss += alpha * made.logprob[b] - lowest
            total += made.logprob[b]
        climb(critics, width, chosen[:n_rows], slope)
        memory[at : at + n_rows * stride] = ZERO
        for k in range(n_dimensions):
            raw, action = made.output[n_dimensions + k], made.action[k]
            for b in range(n_rows):
                of_u = TWO * alpha * action[b] - (ONE - action[b] * action[b]) * slope[k, b]
                is_inside = least <= raw[b] <= most
                shift = (
                    exp32(min(max(raw[b], least), most)) * noise[noise_at + b * n_dimensions + k]
                )
                memory[at + b * stride + k] = of_u * scale
                of_log_std = (shift * of_u - alpha) * scale if is_inside else ZERO
                memory[at + b * stride + n_dimensions + k] = of_log_std
        backward(actor.network, actor.transposed, gradient, actor.scratch, n_rows)
    return loss, total


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _norm_of(gradient):
    total = ZERO
    for i in range(gradient.size):
        total += gradient[i] * gradient[i]
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def step_optimizer(parameters, optimizer, update):
    """Take the step that the gradient asks for, update `update` of a call; return its norm."""
    norm = _norm_of(optimizer.gradient)
    clip = clip_scale(norm, optimizer.settings.max_grad_norm)
    adam_step(
        parameters, optimizer.moment1, optimizer.moment2, optimizer.gradient,
        clip, optimizer.n_before + update + 1, optimizer.settings,
    )  # fmt: skip
    return norm


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def transpose_critics(critics):
    """Bring the critics' transposed weights up to date."""
    for e in range(critics.parameters.shape[0]):
        transpose_weights(critics.network, critics.parameters[e], critics.transposed[e])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def step_temperature(log_alpha, optimizer, mean_logprob, update, settings):
    """Take a step of the temperature, if it learns."""
    if settings.learns_temperature:
        optimizer.gradient[0] = -mean_logprob - settings.target_entropy
        step_optimizer(log_alpha, optimizer, update)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def move_targets(critics, tau):
    """Move the targets towards the critics."""
    weight, online, target = _F(tau), critics.parameters.reshape(-1), critics.target.reshape(-1)
    for i in range(target.size):
        target[i] += weight * (online[i] - target[i])


@njit(cache=True, error_model="numpy", nogil=True)
def run_compiled_updates(
    actor, critics, log_alpha, optimizers, batches, batch_size, settings, outcome
):
    """Make one update for each batch, in place.

    Args:
        actor: `Actor`.
        critics: `Critics`.
        log_alpha: (1,) logarithm of the temperature.
        optimizers: `FlatOptimizer` of actor, critics and temperature.
        batches: The transitions.
        batch_size: B.
        settings: `UpdateSettings`.
        outcome: rows (U, 7) float64, are written: losses of critics and actor, mean value, entropy,
            temperature, norms of the gradients of critics and actor; errors (U * B,) float32,
            likewise.
    """
    of_actor, of_critics, of_temperature = optimizers
    rows, errors = outcome
    n_critics = critics.parameters.shape[0]
    gradient = of_critics.gradient.reshape(critics.parameters.shape)
    transpose_critics(critics)
    for u in range(rows.shape[0]):
        part = (u * batch_size, (u + 1) * batch_size, u, batch_size)
        alpha = _F(math.exp(log_alpha[0]))
        of_critics.gradient[:] = ZERO
        sums = learn_critics(actor, critics, gradient, batches, part, alpha, settings, errors)
        rows[u, 0], rows[u, 2] = sums[0] / batch_size, sums[1] / (batch_size * n_critics)
        rows[u, 5] = step_optimizer(critics.parameters.reshape(-1), of_critics, u)
        transpose_critics(critics)
        transpose_weights(actor.network, actor.parameters, actor.transposed)
        of_actor.gradient[:] = ZERO
        sums = learn_actor(actor, critics, of_actor.gradient, batches, part, alpha, settings)
        rows[u, 1], rows[u, 3] = sums[0] / batch_size, -sums[1] / batch_size
        rows[u, 4] = alpha
        rows[u, 6] = step_optimizer(actor.parameters, of_actor, u)
        step_temperature(log_alpha, of_temperature, sums[1] / batch_size, u, settings)
        move_targets(critics, settings.tau)
