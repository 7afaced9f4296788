"""T steps of policy and environments in one compiled call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types

from gym_envs.numba_settings import FAST_MATH, intrinsic, njit
from utils.compiled.distributions import (
    categorical_terms,
    normal_terms,
    normalize_logits,
    take_columns,
)
from utils.compiled.float32_math import ZERO, exp32
from utils.compiled.network import BLOCK, forward, row_length
from utils.compiled.parameters import pack
from utils.compiled.random_numbers import normal_of, random_word, uniform_of

_u = np.uint64


class EnvArrays(NamedTuple):
    """What a step of N environments reads and writes; see `gym_envs.simd.SimdArrays`."""

    choice: np.ndarray
    """(N,) int32 actions; empty where actions are real numbers."""
    action: np.ndarray
    """(N * A,) float32 actions; empty where they are choices."""
    observation: np.ndarray
    """(N, n) float32"""
    reward: np.ndarray
    """(N,) float32"""
    terminated: np.ndarray
    truncated: np.ndarray
    final_observation: np.ndarray
    """(n, N) float32: what the step led to, transposed."""


class ActionRules(NamedTuple):
    """From what the policy draws to what the environments take."""

    offset: int
    """Is added to a choice."""
    low: np.ndarray
    """(A,) float32; -inf where there is no bound."""
    high: np.ndarray


class ObservationScale(NamedTuple):
    """``(observation - shift) / divisor`` is what the policy reads."""

    shift: np.ndarray
    """(n,) float32"""
    divisor: np.ndarray


class RolloutArrays(NamedTuple):
    """The rollout buffer's memory; T steps of N environments."""

    observation: np.ndarray
    """(T, N, n) float32"""
    choice: np.ndarray
    """(T, N) int64; empty where actions are real numbers."""
    action: np.ndarray
    """(T, N, A) float32; empty where they are choices."""
    logprob: np.ndarray
    value: np.ndarray
    next_value: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class EpisodeArrays(NamedTuple):
    """Running episodes, and the ones that end, in order."""

    running_return: np.ndarray
    """(N,) float64"""
    running_length: np.ndarray
    """(N,) int64"""
    finished_return: np.ndarray
    """(T * N,) float64"""
    finished_length: np.ndarray


@intrinsic
def _call_step(_context: Any, pointer: Any, table: Any, n_envs: Any) -> Any:  # noqa: ARG001
    """Call the C function ``int64 step(table, 0, n_envs)`` behind an address."""

    def generate(_target_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        kind = ir.FunctionType(number, [number] * 3).as_pointer()
        function = builder.inttoptr(arguments[0], kind)
        return builder.call(function, [arguments[1], number(0), arguments[2]])

    return types.int64(types.int64, types.int64, types.int64), generate


@njit(cache=True, error_model="numpy")
def _scale_rows(raw, scale, scaled):
    """Write what the policy reads of every row; strict, so that it is torch's to the bit."""
    for i in range(raw.shape[0]):
        for j in range(raw.shape[1]):
            scaled[i, j] = (raw[i, j] - scale.shift[j]) / scale.divisor[j]


@njit(cache=True, error_model="numpy")
def _load_input(rows, first, n_rows, scratch):
    width = rows.shape[1]
    for b in range(n_rows):
        for j in range(width):
            scratch.memory[scratch.input_at + b * width + j] = rows[first + b, j]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _write_values(critic, parameters, scratch, n_rows, value):
    """Write V of the rows in the scratch's input."""
    at = forward(critic, parameters, scratch, n_rows)
    length = row_length(1)
    for b in range(n_rows):
        value[b] = scratch.memory[at + b * length]


@njit(cache=True, error_model="numpy")
def _has_bad(numbers):
    """Say whether any number is not finite."""
    found = False
    for i in range(numbers.size):
        found |= not (abs(numbers[i]) < np.inf)
    return found


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _draw_choices(logprobs, key, position, choice):
    """Draw an index for each column of log-probabilities (n, B) by inverting the distribution."""
    n = logprobs.shape[0]
    for b in range(choice.size):
        drawn = uniform_of(random_word(key, position + _u(b)))
        total = ZERO
        index = np.int32(0)
        for k in range(n - 1):
            total += exp32(logprobs[k, b])
            index += np.int32(drawn >= total)
        choice[b] = index


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _draw_actions(mean, log_std, key, position, action):
    """Draw ``mean + std * noise`` for each column (A, B)."""
    n_dims = mean.shape[0]
    for k in range(n_dims):
        std = exp32(log_std[k])
        for b in range(mean.shape[1]):
            word = random_word(key, position + _u(b * n_dims + k))
            action[k, b] = mean[k, b] + std * normal_of(word)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _decide(actor, policy, scratch, work, key, position, n_rows):
    """Draw actions for the rows in the scratch's input; they and their logprobs are in `work`."""
    parameters, log_std_at = policy
    columns, choice, action, rows = work
    columns, action = columns[:, :n_rows], action[:, :n_rows]
    at = forward(actor, parameters, scratch, n_rows)
    take_columns(scratch.memory, at, row_length(columns.shape[0]), columns)
    if log_std_at < 0:
        normalize_logits(columns, rows[2:4, :n_rows])
        _draw_choices(columns, key, position, choice[:n_rows])
        categorical_terms(columns, choice[:n_rows], rows[0, :n_rows], rows[1, :n_rows])
    else:
        log_std = parameters[log_std_at : log_std_at + columns.shape[0]]
        _draw_actions(columns, log_std, key, position, action)
        normal_terms(columns, log_std, action, rows[0, :n_rows])


@njit(cache=True, error_model="numpy")
def _store_decision(work, first, n_rows, t, env, rules, rollout):
    _, choice, action, rows = work
    n_dims = action.shape[0]
    for b in range(n_rows):
        i = first + b
        rollout.logprob[t, i] = rows[0, b]
        if n_dims == 0:
            rollout.choice[t, i] = choice[b]
            env.choice[i] = choice[b] + rules.offset
        for k in range(n_dims):
            drawn = action[k, b]
            rollout.action[t, i, k] = drawn
            drawn = rules.low[k] if drawn < rules.low[k] else drawn
            env.action[i * n_dims + k] = rules.high[k] if drawn > rules.high[k] else drawn


@njit(cache=True, error_model="numpy")
def _store_outcome(env, t, rollout, episodes, n_finished):
    """Copy the environments' answer and count episodes; return how many have ended so far."""
    for i in range(env.reward.size):  # loops compile much faster than assignments of arrays
        rollout.reward[t, i] = env.reward[i]
        rollout.terminated[t, i] = env.terminated[i]
        rollout.truncated[t, i] = env.truncated[i]
    for i in range(env.reward.size):
        episodes.running_return[i] += env.reward[i]
        episodes.running_length[i] += 1
        if env.terminated[i] | env.truncated[i]:
            episodes.finished_return[n_finished] = episodes.running_return[i]
            episodes.finished_length[n_finished] = episodes.running_length[i]
            episodes.running_return[i] = 0.0
            episodes.running_length[i] = 0
            n_finished += 1
    return n_finished


@njit(cache=True, error_model="numpy")
def _value_finals(critic, parameters, scratch, env, scale, next_value):
    """Write V of the final observation where an episode was cut; return whether all is finite."""
    width = env.final_observation.shape[0]
    picked, value = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.float32)
    row = np.empty((1, width), dtype=np.float32)
    n_envs, n_picked, is_fine = env.truncated.size, 0, True
    for i in range(n_envs):
        if env.truncated[i] and not env.terminated[i]:
            for j in range(width):
                row[0, j] = env.final_observation[j, i]
            is_fine &= not _has_bad(row[0])
            _scale_rows(row, scale, row)
            for j in range(width):
                scratch.memory[scratch.input_at + n_picked * width + j] = row[0, j]
            picked[n_picked] = i
            n_picked += 1
        if n_picked == BLOCK or (n_picked > 0 and i == n_envs - 1):
            _write_values(critic, parameters, scratch, n_picked, value)
            for b in range(n_picked):
                next_value[picked[b]] = value[b]
            n_picked = 0
    return is_fine


@njit(cache=True, error_model="numpy")
def _finish_row(value, truncated, terminated, next_value):
    """Write V of the observation that a step led to where its final observation is not valued."""
    for i in range(value.size):
        if not truncated[i] or terminated[i]:
            next_value[i] = value[i]


FINE, BAD_REWARD, BAD_FINAL_OBSERVATION, BAD_OBSERVATION = 0, 1, 2, 3


@njit(cache=True, error_model="numpy")
def collect_steps(  # noqa: PLR0913
    actor, critic, scratch, packed, log_std_at, segments, addresses,
    step, env, rules, scale, rollout, episodes, key, position, n_all, n_steps,
):  # fmt: skip
    """Write `n_steps` rows of a rollout, going on where the environments are.

    Args:
        actor: Its layout.
        critic: Its layout.
        scratch: Working memory.
        packed: Flat parameters; is filled from the policy's own.
        log_std_at: See `CompiledPolicy`.
        segments: See `CompiledPolicy`.
        addresses: (n_parameters,) int64, of the policy's parameters.
        step: Address of the environments' step, and of their table; see `SimdVectorEnv`.
        env: The arrays that a step works on.
        rules: What becomes of a drawn action.
        scale: What becomes of an observation.
        rollout: Is written.
        episodes: Are counted.
        key: uint64, of the random numbers.
        position: uint64, of the first number of this rollout; each action takes as many as it has
            dimensions.
        n_all: Environments of the run, of which these may be a part: their actions take the
            numbers of one row.
        n_steps: Rows to write.

    Returns:
        Number of episodes that ended, and (what is not finite, at which step).
    """
    pack(segments, addresses, packed)
    policy = (packed, log_std_at)
    n_envs = env.reward.size
    n_outputs = actor.widths[-1]
    n_dims = 0 if log_std_at < 0 else n_outputs
    n_words = max(1, n_dims)
    work = (
        np.empty((n_outputs, BLOCK), dtype=np.float32),
        np.empty(BLOCK, dtype=np.int32),
        np.empty((n_dims, BLOCK), dtype=np.float32),
        np.empty((4, BLOCK), dtype=np.float32),
    )
    last_value = np.empty(n_envs, dtype=np.float32)
    last_observation = np.empty_like(env.observation)
    n_finished = 0
    for t in range(n_steps + 1):
        is_last = t == n_steps
        observation = last_observation if is_last else rollout.observation[t]
        value = last_value if is_last else rollout.value[t]
        _scale_rows(env.observation, scale, observation)
        for first in range(0, n_envs, BLOCK):
            n_rows = min(BLOCK, n_envs - first)
            _load_input(observation, first, n_rows, scratch)
            _write_values(critic, packed, scratch, n_rows, value[first : first + n_rows])
            if not is_last:
                begin = position + _u((t * n_all + first) * n_words)
                _decide(actor, policy, scratch, work, key, begin, n_rows)
                _store_decision(work, first, n_rows, t, env, rules, rollout)
        if t > 0:
            _finish_row(
                value,
                rollout.truncated[t - 1],
                rollout.terminated[t - 1],
                rollout.next_value[t - 1],
            )
        if is_last:
            break
        _call_step(step[0], step[1], n_envs)
        n_finished = _store_outcome(env, t, rollout, episodes, n_finished)
        if _has_bad(env.reward):
            return n_finished, (BAD_REWARD, t)
        if not _value_finals(critic, packed, scratch, env, scale, rollout.next_value[t]):
            return n_finished, (BAD_FINAL_OBSERVATION, t)
        if _has_bad(env.observation.reshape(-1)):
            return n_finished, (BAD_OBSERVATION, t)
    return n_finished, (FINE, n_steps)
