"""The compiled parts of PPO's update: its loss, the gradient of a minibatch, and the walk.

The formulas are those of `ppo_losses`, written for a block of samples that lie side by side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.adam import adam_step, clip_scale, measure_norms
from utils.compiled.distributions import (
    categorical_pull_back,
    categorical_terms,
    normal_pull_back,
    normal_terms,
    normalize_logits,
    put_columns,
    take_columns,
)
from utils.compiled.float32_math import HALF, ONE, TWO, ZERO, exp32
from utils.compiled.network import BLOCK, backward, forward, row_length, transpose_weights
from utils.compiled.parameters import pack, read_float, unpack, write_float
from utils.returns.standardize import ROUNDING_STEPS

_F = np.float32
_VARIATION = ROUNDING_STEPS * float(np.finfo(np.float32).eps)


class Samples(NamedTuple):
    """A finished rollout, flat arrays of n samples."""

    observation: np.ndarray
    """(n * n_in,) float32"""
    choice: np.ndarray
    """(n,) int64 actions of a categorical policy; empty for a normal one."""
    action: np.ndarray
    """(n * A,) float32 actions of a normal policy; empty for a categorical one."""
    old_logprob: np.ndarray
    old_value: np.ndarray
    advantage: np.ndarray
    returns: np.ndarray


class LossSettings(NamedTuple):
    """What the loss depends on beside the samples."""

    clip_range: float
    clip_range_vf: float
    """Below 0: the value is not clipped."""
    vf_coef: float
    ent_coef: float
    kl_limit: float
    """Divergence that ends the update; infinity: none does."""
    normalizes: bool
    """Advantages get mean 0 and deviation 1 over each minibatch."""


class _Block(NamedTuple):
    """The samples that are being carried through the networks; B <= BLOCK columns."""

    columns: np.ndarray
    """(n_outputs, B) logits or means, then their gradient."""
    choice: np.ndarray
    """(B,) int32"""
    action: np.ndarray
    """(A, B)"""
    rows: np.ndarray
    """(9, B) old_logprob, old_value, advantage, returns, logprob, entropy, weight, 2 to work in."""


class Outcome(NamedTuple):
    """What the update leaves behind."""

    losses: np.ndarray
    """(n_minibatches, 4) float64 in the order of the metric keys."""
    norms: np.ndarray
    """(n_minibatches, n_parameters) float32"""
    sums: np.ndarray
    """(2,) float64, divergence and clipped samples over all minibatches that were looked at."""


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _advantage_scale(advantage, index):
    """Return shift and factor that standardise the picked advantages; see `standardize`."""
    n = index.size
    if n < 2:
        return 0.0, 1.0
    total = 0.0
    for b in range(n):
        total += advantage[index[b]]
    mean = total / n
    total = 0.0
    for b in range(n):
        centred = advantage[index[b]] - mean
        total += centred * centred
    std = math.sqrt(total / (n - 1))
    if std <= _VARIATION * abs(mean):  # false for NaN, which is to be seen
        return mean, 0.0
    return mean, 1.0 / (std + 1e-8)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _pick(values, index, picked):
    for b in range(index.size):
        picked[b] = values[index[b]]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _pick_rows(values, index, length, picked):
    for b in range(index.size):
        at, to = index[b] * length, b * length
        for i in range(length):
            picked[to + i] = values[at + i]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _load_block(samples, index, shift, factor, n_in, scratch, block):
    """Copy the picked samples into the block and the networks' input."""
    to = scratch.input_at
    _pick_rows(samples.observation, index, n_in, scratch.memory[to : to + index.size * n_in])
    _pick(samples.old_logprob, index, block.rows[0])
    _pick(samples.old_value, index, block.rows[1])
    advantage, shift, factor = block.rows[2], _F(shift), _F(factor)
    _pick(samples.advantage, index, advantage)
    for b in range(index.size):
        advantage[b] = (advantage[b] - shift) * factor
    _pick(samples.returns, index, block.rows[3])
    n_dims = block.action.shape[0]
    if n_dims == 0:
        for b in range(index.size):
            block.choice[b] = samples.choice[index[b]]
    for k in range(n_dims):
        for b in range(index.size):
            block.action[k, b] = samples.action[index[b] * n_dims + k]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _policy_terms(old_logprob, advantage, logprob, weight, clip_range, scale):
    """Write the derivative of the mean loss by `logprob`; return sums of loss, KL and clipping.

    See `clipped_policy_gradient`, `approximate_kl` and `clipped_fraction`.
    """
    above, below, limit = _F(1.0 + clip_range), _F(1.0 - clip_range), _F(clip_range)
    loss, divergence, n_clipped = ZERO, ZERO, ZERO
    for b in range(weight.size):
        difference = logprob[b] - old_logprob[b]
        ratio = exp32(difference)
        gain = ratio * advantage[b]
        bound = advantage[b] * (above if advantage[b] > ZERO else below)
        loss -= bound if gain > bound else gain  # NaN stays
        weight[b] = -gain * scale if gain <= bound else ZERO
        # Near 0 the difference of nearly equal numbers has no digits left: a series has.
        small = (
            difference * difference * (HALF + difference * (_F(1 / 6) + difference * _F(1 / 24)))
        )
        large = ratio - ONE - difference
        divergence += small if abs(difference) < _F(0.03) else large
        n_clipped += ONE if abs(ratio - ONE) > limit else ZERO
    return loss, divergence, n_clipped


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _value_terms(value, old_value, returns, clip_range_vf, scale):
    """Replace values by the derivative of the mean loss; return the sum of the loss.

    See `value_gradient`; a `clip_range_vf` below 0 does not clip.
    """
    loss = ZERO
    if clip_range_vf < 0:
        for b in range(value.size):
            error = value[b] - returns[b]
            loss += error * error
            value[b] = TWO * error * scale
        return loss
    limit = _F(clip_range_vf)
    for b in range(value.size):
        error = value[b] - returns[b]
        move = value[b] - old_value[b]
        clipped_move = limit if move > limit else move
        clipped_move = -limit if clipped_move < -limit else clipped_move
        clipped_error = old_value[b] + clipped_move - returns[b]
        free, clipped = error * error, clipped_error * clipped_error
        loss += free if free >= clipped else clipped
        inside = TWO * clipped_error if abs(move) <= limit else ZERO
        value[b] = (TWO * error if free >= clipped else inside) * scale
    return loss


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _actor_pass(actor, policy, gradient, scratch, block, loss_settings, n_rows, n):
    """Add the actor's gradient for a block; return sums of loss, entropy, KL and clipping.

    `policy` is the flat parameters, the transposed weights and the place of `log_std`.
    """
    parameters, transposed, log_std_at = policy
    scale = _F(1.0 / n)
    entropy_gradient = -loss_settings.ent_coef / n
    columns = block.columns[:, :n_rows]
    old_logprob, advantage = block.rows[0, :n_rows], block.rows[2, :n_rows]
    logprob, entropy, weight = (
        block.rows[4, :n_rows],
        block.rows[5, :n_rows],
        block.rows[6, :n_rows],
    )
    stride = row_length(columns.shape[0])
    take_columns(scratch.memory, forward(actor, parameters, scratch, n_rows), stride, columns)
    if log_std_at < 0:
        normalize_logits(columns, block.rows[7:9, :n_rows])
        categorical_terms(columns, block.choice[:n_rows], logprob, entropy)
        entropy_sum = 0.0
        for b in range(n_rows):
            entropy_sum += entropy[b]
    else:
        log_std = parameters[log_std_at : log_std_at + columns.shape[0]]
        entropy_sum = n_rows * normal_terms(columns, log_std, block.action[:, :n_rows], logprob)
    loss, divergence, n_clipped = _policy_terms(
        old_logprob, advantage, logprob, weight, loss_settings.clip_range, scale
    )
    if log_std_at < 0:
        categorical_pull_back(columns, block.choice[:n_rows], weight, entropy, entropy_gradient)
    else:
        slope = gradient[log_std_at : log_std_at + columns.shape[0]]
        normal_pull_back(columns, log_std, block.action[:, :n_rows], weight, slope)
        for k in range(slope.size):
            slope[k] += _F(entropy_gradient * n_rows)
    put_columns(columns, scratch.memory, scratch.delta_at, stride)
    backward(actor, transposed, gradient, scratch, n_rows)
    return loss, entropy_sum, divergence, n_clipped


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _critic_pass(critic, policy, gradient, scratch, block, loss_settings, n_rows, n):
    """Add the critic's gradient for a block; return the sum of its loss."""
    parameters, transposed, _ = policy
    value = block.rows[4:5, :n_rows]
    stride = row_length(1)
    take_columns(scratch.memory, forward(critic, parameters, scratch, n_rows), stride, value)
    loss = _value_terms(
        value[0],
        block.rows[1, :n_rows],
        block.rows[3, :n_rows],
        loss_settings.clip_range_vf,
        _F(loss_settings.vf_coef / n),
    )
    put_columns(value, scratch.memory, scratch.delta_at, stride)
    backward(critic, transposed, gradient, scratch, n_rows)
    return loss


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _minibatch_gradient(  # noqa: PLR0913
    actor, critic, policy, gradient, scratch, block, loss_settings, samples, index
):  # fmt: skip
    """Write the gradient of the loss of one minibatch; return its terms and sums.

    Returns:
        Total, policy and value loss, entropy (means), and sums of divergence and clipping.
    """
    parameters, transposed, _ = policy
    n = index.size
    shift, factor = 0.0, 1.0
    if loss_settings.normalizes:
        shift, factor = _advantage_scale(samples.advantage, index)
    gradient[:] = ZERO
    transpose_weights(actor, parameters, transposed)
    transpose_weights(critic, parameters, transposed)
    policy_loss = value_loss = entropy = divergence = n_clipped = 0.0
    for first in range(0, n, BLOCK):
        picked = index[first : min(first + BLOCK, n)]
        n_rows = picked.size
        _load_block(samples, picked, shift, factor, actor.widths[0], scratch, block)
        sums = _actor_pass(actor, policy, gradient, scratch, block, loss_settings, n_rows, n)
        policy_loss += sums[0]
        entropy += sums[1]
        divergence += sums[2]
        n_clipped += sums[3]
        value_loss += _critic_pass(
            critic, policy, gradient, scratch, block, loss_settings, n_rows, n
        )
    policy_loss, value_loss, entropy = policy_loss / n, value_loss / n, entropy / n
    total = policy_loss + loss_settings.vf_coef * value_loss - loss_settings.ent_coef * entropy
    return total, policy_loss, value_loss, entropy, divergence, n_clipped


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _allocate_block(n_outputs, n_dims):
    return _Block(
        np.zeros((n_outputs, BLOCK), dtype=np.float32),
        np.zeros(BLOCK, dtype=np.int32),
        np.zeros((n_dims, BLOCK), dtype=np.float32),
        np.zeros((9, BLOCK), dtype=np.float32),
    )


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH, nogil=True)
def run_compiled_update(  # noqa: PLR0913
    actor, critic, scratch, flat, segments, addresses, samples, index_table, settings, outcome,
    log_std_at,
):  # fmt: skip
    """Take one optimiser step for each row of the index table.

    Args:
        actor: Its layout.
        critic: Its layout.
        scratch: Working memory.
        flat: (5, ...) parameters, two moments, gradient and transposed weights, flat each.
        segments: Which part of which parameter is where in the flat arrays.
        addresses: (4, n_parameters) of parameter, first and second moment, and step number.
        samples: What the table picks from.
        index_table: (n_minibatches, B) int64.
        settings: Of the loss and of the optimiser.
        outcome: Is written.
        log_std_at: See `CompiledPolicy`.

    Returns:
        Number of minibatches looked at, and of steps taken.
    """
    parameters, moment1, moment2, gradient, transposed = flat
    loss_settings, adam_settings = settings
    pack(segments, addresses[0], parameters)
    pack(segments, addresses[1], moment1)
    pack(segments, addresses[2], moment2)
    n_before = int(read_float(addresses[3, 0], 0))
    n_dims = 0 if log_std_at < 0 else actor.widths[-1]
    block = _allocate_block(actor.widths[-1], n_dims)
    policy = (parameters, transposed, log_std_at)
    n_seen = n_steps = 0
    outcome.sums[:] = 0.0
    for k in range(index_table.shape[0]):
        index = index_table[k]
        terms = _minibatch_gradient(
            actor, critic, policy, gradient, scratch, block, loss_settings, samples, index
        )
        n_seen += 1
        for column in range(4):
            outcome.losses[k, column] = terms[column]
        outcome.sums[0] += terms[4]
        outcome.sums[1] += terms[5]
        if terms[4] / index.size > loss_settings.kl_limit:
            break
        norm = measure_norms(segments, gradient, outcome.norms[k])
        n_steps += 1
        adam_step(
            parameters,
            moment1,
            moment2,
            gradient,
            clip_scale(norm, adam_settings.max_grad_norm),
            n_before + n_steps,
            adam_settings,
        )
    unpack(segments, addresses[0], parameters)
    unpack(segments, addresses[1], moment1)
    unpack(segments, addresses[2], moment2)
    for k in range(addresses.shape[1]):
        write_float(addresses[3, k], 0, _F(n_before + n_steps))
    return n_seen, n_steps
