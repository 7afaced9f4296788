"""Rules of a finite environment as arrays: what may follow each action in each state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class TransitionTable(NamedTuple):
    """S states, A actions, M outcomes at most; what is missing of M is never drawn."""

    cumulated: np.ndarray
    """(S, A, M) float64 sums of the probabilities up to and with each outcome; -1 for none."""
    next_state: np.ndarray
    """(S, A, M) int64"""
    reward: np.ndarray
    """(S, A, M) float64"""
    terminated: np.ndarray
    """(S, A, M) bool"""
    starts: np.ndarray
    """(S,) float64 sums of the probabilities of beginning in each state."""


def read_table(core: Any) -> TransitionTable:
    """Read the table of an environment.

    Args:
        core: Has `P`, state -> action -> list of (probability, next state, reward, terminated), and
            `initial_state_distrib` (S,), as Gymnasium's toy text environments have.
    """
    rules = core.P
    n_states, n_actions = len(rules), len(rules[0])
    n_outcomes = max(len(outcomes) for actions in rules.values() for outcomes in actions.values())
    shape = (n_states, n_actions, n_outcomes)
    table = TransitionTable(
        cumulated=np.full(shape, -1.0),
        next_state=np.zeros(shape, np.int64),
        reward=np.zeros(shape),
        terminated=np.zeros(shape, np.bool_),
        starts=np.cumsum(core.initial_state_distrib),
    )
    for state, actions in rules.items():
        for action, outcomes in actions.items():
            probability, following, reward, terminated = zip(*outcomes, strict=True)
            row = (state, action, slice(len(outcomes)))
            table.cumulated[row] = np.cumsum(probability)
            table.next_state[row], table.reward[row] = following, reward
            table.terminated[row] = terminated
    return table
