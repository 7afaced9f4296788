from __future__ import annotations

import numpy as np

from gym_envs.bandits.record import ArmRecord

NO_CONTEXT = np.array([0])


def pull(record: ArmRecord, arm: int, reward: float, context: int = 0) -> None:
    record.add(np.array([context]), np.array([arm]), np.array([reward]))


def test_counts_and_means_of_each_arm() -> None:
    record = ArmRecord(1, 1, 3)
    for arm, reward in ((0, 1.0), (0, 0.0), (2, 5.0)):
        pull(record, arm, reward)
    counts, means = record.in_context(NO_CONTEXT)
    assert counts.tolist() == [[2.0, 0.0, 1.0]]
    assert means.tolist() == [[0.5, 0.0, 5.0]]


def test_old_pulls_weigh_less_with_a_memory_below_one() -> None:
    record = ArmRecord(1, 1, 2, memory=0.5)
    for arm, reward in ((0, 8.0), (1, 1.0), (0, 2.0)):
        pull(record, arm, reward)
    counts, means = record.in_context(NO_CONTEXT)
    # arm 0: weights 1/4 and 1, so 1.25 pulls of mean (8/4 + 2) / 1.25 = 3.2; arm 1: half a pull
    assert counts.tolist() == [[1.25, 0.5]]
    assert means.tolist() == [[3.2, 1.0]]


def test_contexts_do_not_mix_and_rows_are_cleared_alone() -> None:
    record = ArmRecord(2, 2, 2)
    record.add(np.array([0, 1]), np.array([1, 1]), np.array([3.0, 4.0]))
    assert record.in_context(np.array([0, 0]))[0].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    record.clear(np.array([0]))
    assert record.counts.sum(axis=(1, 2)).tolist() == [0.0, 1.0]
