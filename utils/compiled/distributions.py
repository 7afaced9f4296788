"""Log-probability, entropy and their derivatives for a block of samples.

The formulas are those of `utils.distributions`; here the samples lie side by side, so that 16 of
them are computed at once. A network's output is (B, padded(n)) and begins at `at` in `memory`.
"""

from __future__ import annotations

import math

import numpy as np

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.float32_math import HALF, ONE, ZERO, exp32, log32

_i = np.int32
_HALF_LOG_TWO_PI = np.float32(0.5 * math.log(2.0 * math.pi))


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def take_columns(memory, at, stride, columns):
    """Copy the first columns of a block of rows side by side: columns[k, b] = row b, column k."""
    for k in range(columns.shape[0]):
        column = columns[k]
        for b in range(column.size):
            column[b] = memory[at + b * stride + k]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def put_columns(columns, memory, at, stride):
    """Write columns back as rows of length `stride`, with zeros behind them."""
    memory[at : at + columns.shape[1] * stride] = ZERO
    for k in range(columns.shape[0]):
        column = columns[k]
        for b in range(column.size):
            memory[at + b * stride + k] = column[b]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def normalize_logits(logits, work):
    """Turn logits (n, B) into log-probabilities, in place; `work` is (2, B)."""
    n = logits.shape[0]
    most, total = work[0], work[1]
    for k in range(n):
        row = logits[k]
        for b in range(row.size):
            most[b] = row[b] if k == 0 or row[b] > most[b] else most[b]
    total[:] = ZERO
    for k in range(n):
        row = logits[k]
        for b in range(row.size):
            total[b] += exp32(row[b] - most[b])
    for b in range(total.size):
        total[b] = log32(total[b]) + most[b]
    for k in range(n):
        row = logits[k]
        for b in range(row.size):
            row[b] -= total[b]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def categorical_terms(logprobs, action, logprob, entropy):
    """Write log p(action) and the entropy of each sample.

    Args:
        logprobs: (n, B) normalised.
        action: (B,) int32.
        logprob: (B,) is written.
        entropy: (B,) is written.
    """
    logprob[:] = ZERO
    entropy[:] = ZERO
    for k in range(logprobs.shape[0]):
        row, index = logprobs[k], _i(k)
        for b in range(row.size):
            logprob[b] += row[b] if action[b] == index else ZERO
            entropy[b] -= exp32(row[b]) * row[b]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def categorical_pull_back(logprobs, action, weight, entropy, entropy_gradient):
    """Replace log-probabilities (n, B) by the gradient of a loss with respect to the logits.

    Args:
        logprobs: (n, B) normalised; is overwritten.
        action: (B,) int32.
        weight: (B,) gradient with respect to log p(action).
        entropy: (B,)
        entropy_gradient: Gradient with respect to each sample's entropy.
    """
    slope = np.float32(entropy_gradient)
    for k in range(logprobs.shape[0]):
        row, index = logprobs[k], _i(k)
        for b in range(row.size):
            probability = exp32(row[b])
            chosen = ONE if action[b] == index else ZERO
            pulled = slope * probability * (row[b] + entropy[b])
            row[b] = weight[b] * (chosen - probability) - pulled


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def normal_terms(mean, log_std, action, logprob):
    """Write the log-density of each sample and return the entropy, the same for all.

    Args:
        mean: (A, B)
        log_std: (A,)
        action: (A, B)
        logprob: (B,) is written.
    """
    logprob[:] = ZERO
    entropy = 0.0
    for k in range(mean.shape[0]):
        centre, drawn = mean[k], action[k]
        inverse_std = exp32(-log_std[k])
        constant = log_std[k] + _HALF_LOG_TWO_PI
        entropy += constant + HALF
        for b in range(logprob.size):
            z = (drawn[b] - centre[b]) * inverse_std
            logprob[b] -= HALF * z * z + constant
    return entropy


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def normal_pull_back(mean, log_std, action, weight, log_std_gradient):
    """Replace means (A, B) by the gradient of a loss with respect to them.

    Args:
        mean: (A, B); is overwritten.
        log_std: (A,)
        action: (A, B)
        weight: (B,) gradient with respect to the log-density.
        log_std_gradient: (A,) is added to; the entropy's part is the caller's.
    """
    for k in range(mean.shape[0]):
        centre, drawn = mean[k], action[k]
        inverse_std = exp32(-log_std[k])
        total = ZERO
        for b in range(weight.size):
            z = (drawn[b] - centre[b]) * inverse_std
            total += weight[b] * (z * z - ONE)
            centre[b] = weight[b] * z * inverse_std
        log_std_gradient[k] += total
