"""One step of all environments, written once for every environment.

The functions here are patterns: `compilation` copies them for one environment, with its physics
and with the functions for its numbers of variables in place of the names below, and compiles the
copies. The loops have no branch and touch flat arrays of float32, int32, uint32 and bool only,
which is what LLVM needs to use the widest vector registers. Nothing is reordered or fused, so an
environment's numbers do not depend on how many others there are or which thread it falls to.
"""

from __future__ import annotations

import numpy as np
from numba import carray, prange

from gym_envs.simd.llvm_hints import arrays_are_distinct, pointer_to
from gym_envs.simd.random_words import COUNTER_STEP


def _unfilled(*_: object) -> object:
    raise AssertionError("a pattern: see compile_kernels")


# Filled in for each environment:
transition = observe = _unfilled
state_rows = load_state = store_state = select_state = draw_state = _unfilled
observation_rows = store_observation = write_observation = take_actions = _unfilled
INITIAL_LOW = INITIAL_SPAN = (np.float32(0.0),)
N_STATE = N_OBSERVATION = N_ACTIONS = 0
ACTION_TYPE = np.int32

_ONE = np.int32(1)
_ZERO = np.int32(0)
_NOTHING = np.float32(0.0)
BLOCK = 64  # environments whose flags fill a cache line; threads never share one

WRONG_LENGTH = -1
WRONG_ACTION = -2


def step_rows(  # noqa: PLR0913 - one array for each purpose
    actions,
    observations,
    rewards,
    terminations,
    truncations,
    finals,
    firsts,
    returns,
    lengths,
    states,
    counters,
    keys,
    max_length,
):
    """Step every environment of flat arrays: the loop that everything else is a way to."""
    arrays_are_distinct()
    for i in range(len(rewards)):
        was_first = firsts[i]
        outcome = transition(*(load_state(states, i) + (np.float32(actions[i]),)))  # noqa: RUF005
        after = outcome[:-2]
        reward = np.float32(outcome[-2])
        has_ended = outcome[-1]
        length = np.int32(np.int32(_ZERO if was_first else lengths[i]) + _ONE)
        is_cut = (length >= max_length) & (not has_ended)
        is_first = has_ended | is_cut
        counter = counters[i]
        fresh = draw_state(counter, keys[i], INITIAL_LOW, INITIAL_SPAN)
        now = select_state(is_first, fresh, after)
        store_observation(finals, i, observe(*after))
        write_observation(observations, i, observe(*now))
        store_state(states, i, now)
        rewards[i] = reward
        terminations[i] = has_ended
        truncations[i] = is_cut
        firsts[i] = is_first
        returns[i] = np.float32((_NOTHING if was_first else returns[i]) + reward)
        lengths[i] = length
        counters[i] = np.uint32(counter + COUNTER_STEP) if is_first else counter


def step_kernel(  # noqa: PLR0913 - the arrays of SimdArrays, in their order
    action,
    observation,
    reward,
    terminated,
    truncated,
    final_observation,
    is_first,
    episode_return,
    episode_length,
    state,
    random,
    limits,
):
    """Step every environment; the arguments are the arrays of `SimdArrays`, in their order."""
    n_envs = len(reward)
    step_rows(
        action.reshape(-1),
        observation.reshape(-1),
        reward,
        terminated,
        truncated,
        observation_rows(final_observation.T, 0, n_envs),
        is_first,
        episode_return,
        episode_length,
        state_rows(state, 0, n_envs),
        random[0],
        random[1],
        limits[0],
    )


def take_discrete_actions(actions, taken):
    """Copy whole numbers; say whether all of them are actions."""
    is_right = True
    for i in range(len(taken)):
        action = actions[i]
        is_right &= (action >= 0) & (action < N_ACTIONS)
        taken[i] = action
    return is_right


def take_real_actions(actions, taken):
    """Copy real numbers, of which any is an action; return True."""
    for i in range(len(taken)):
        taken[i] = actions[i, 0]
    return True


def has_any(flags):
    """Say whether any flag is set."""
    found = False
    for i in range(len(flags)):
        found |= flags[i]
    return found


def step_part(address, start, stop):
    """Step the environments from `start` to `stop` of the arrays that a table points to.

    Returns:
        Whether an episode ended.
    """
    table = carray(pointer_to(address), 13, np.int64)
    n_envs = table[0]
    observations = carray(pointer_to(table[2]), n_envs * N_OBSERVATION, np.float32)
    finals = carray(pointer_to(table[6]), (N_OBSERVATION, n_envs), np.float32)
    firsts = carray(pointer_to(table[7]), n_envs, np.bool_)[start:stop]
    states = carray(pointer_to(table[10]), (N_STATE, n_envs), np.float32)
    random = carray(pointer_to(table[11]), (2, n_envs), np.uint32)
    step_rows(
        carray(pointer_to(table[1]), n_envs, ACTION_TYPE)[start:stop],
        observations[start * N_OBSERVATION : stop * N_OBSERVATION],
        carray(pointer_to(table[3]), n_envs, np.float32)[start:stop],
        carray(pointer_to(table[4]), n_envs, np.bool_)[start:stop],
        carray(pointer_to(table[5]), n_envs, np.bool_)[start:stop],
        observation_rows(finals, start, stop),
        firsts,
        carray(pointer_to(table[8]), n_envs, np.float32)[start:stop],
        carray(pointer_to(table[9]), n_envs, np.int32)[start:stop],
        state_rows(states, start, stop),
        random[0][start:stop],
        random[1][start:stop],
        carray(pointer_to(table[12]), 1, np.int32)[0],
    )
    return has_any(firsts)


def take_all_actions(address, actions):
    """Copy the actions of all environments to where a table says; return 0 or what is wrong."""
    table = carray(pointer_to(address), 2, np.int64)
    if len(actions) != table[0]:
        return WRONG_LENGTH
    if not take_actions(actions, carray(pointer_to(table[1]), table[0], ACTION_TYPE)):
        return WRONG_ACTION
    return 0


def step_at(address, actions):
    """Step every environment of the arrays that a table points to.

    One address reaches compiled code much faster than a dozen arrays.

    Args:
        address: Of a table, int64: the number of environments, then the addresses of the arrays
            of `SimdArrays` in their order.
        actions: (N,) int64 or int32, or (N, 1) float32.

    Returns:
        1 where an episode ended, 0 where none did, or `WRONG_LENGTH` or `WRONG_ACTION`, where
        nothing was done.
    """
    code = take_all_actions(address, actions)
    if code < 0:
        return code
    return 1 if step_part(address, 0, len(actions)) else 0


def step_at_with_threads(address, actions, n_threads):
    """Do what `step_at` does, each thread with a part of the environments."""
    code = take_all_actions(address, actions)
    if code < 0:
        return code
    n_blocks = (len(actions) + BLOCK - 1) // BLOCK
    has_ended = np.zeros(n_threads, np.bool_)
    for k in prange(n_threads):
        start = n_blocks * k // n_threads * BLOCK
        stop = min(n_blocks * (k + 1) // n_threads * BLOCK, len(actions))
        if start < stop:
            has_ended[k] = step_part(address, start, stop)
    return 1 if has_ended.any() else 0


def reset_masked(mask, observation, is_first, episode_return, episode_length, state, random):
    """Begin a new episode in every environment where the mask (N,) bool is true."""
    observations = observation.reshape(-1)
    states = state_rows(state, 0, len(mask))
    for i in range(len(mask)):
        if mask[i]:
            fresh = draw_state(random[0, i], random[1, i], INITIAL_LOW, INITIAL_SPAN)
            random[0, i] = np.uint32(random[0, i] + COUNTER_STEP)
            store_state(states, i, fresh)
            write_observation(observations, i, observe(*fresh))
            is_first[i] = True
            episode_return[i] = _NOTHING
            episode_length[i] = _ZERO


def observe_all(observation, state):
    """Write the observation of every environment's state."""
    observations = observation.reshape(-1)
    n_envs = len(observation)
    states = state_rows(state, 0, n_envs)
    for i in range(n_envs):
        write_observation(observations, i, observe(*load_state(states, i)))
