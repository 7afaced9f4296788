"""The update of a table, compiled: one call for a vector step of any number of environments."""

from __future__ import annotations

import numpy as np

from gym_envs.numba_settings import njit


@njit(cache=True, error_model="numpy")
def learn_step(table, transitions, allowed, gamma, step_size):
    """Learn one vector step in place, one environment after another.

    ``q[s, a] += step_size * (r + gamma * max_a' q[s', a'] - q[s, a])``, without the maximum where
    the decision process ended: Watkins and Dayan 1992, "Q-learning", equation 1.

    Args:
        table: q (S, A) float64, visits (S, A) int64.
        transitions: state (N,) int64, action (N,) int64, reward (N,) float64, next state (N,)
            int64, terminated (N,) bool.
        allowed: (N, A) bool, the actions of the next states that count; (0, A) for all of all.
        gamma: Discount of one step.
        step_size: In [0, 1].

    Returns:
        Sum over the environments of the absolute errors before the update.
    """
    q, visits = table
    state, action, reward, next_state, terminated = transitions
    total = 0.0
    for i in range(state.size):
        best = -np.inf
        for a in range(q.shape[1]):
            if allowed.shape[0] == 0 or allowed[i, a]:
                best = max(best, q[next_state[i], a])
        target = reward[i]
        if not terminated[i]:
            target += gamma * best
        error = target - q[state[i], action[i]]
        q[state[i], action[i]] += step_size * error
        visits[state[i], action[i]] += 1
        total += abs(error)
    return total
