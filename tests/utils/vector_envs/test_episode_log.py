from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from utils.vector_envs.episode_log import EpisodeLog


def play(
    log: EpisodeLog, lengths: tuple[int, ...], n_steps: int
) -> tuple[list[dict[str, Any]], list[int]]:
    """Play episodes of fixed lengths; return what the log should hold, and its rows per step.

    The action of environment i in step t (from 1) is (t, i); a start says after which step.
    """
    n_envs = len(lengths)
    expected: list[dict[str, Any]] = []
    sizes = []
    for i in range(n_envs):
        log.begin(i, {"after": 0})
        expected.append({"start": {"after": 0}, "actions": [], "resets": [], "is_whole": True})
    for t in range(1, n_steps + 1):
        log.append(np.array([(t, i) for i in range(n_envs)]))
        for i, length in enumerate(lengths):
            expected[i]["actions"].append([t, i])
            if t % length == 0 and len(expected[i]["actions"]) >= 256:
                assert log.is_start_due(i)
                log.begin(i, {"after": t})
                expected[i].update(start={"after": t}, actions=[], resets=[])
            elif t % length == 0:
                assert not log.is_start_due(i)
                log.note_reset(i)
                expected[i]["resets"].append(len(expected[i]["actions"]))
        sizes.append(len(log))
    return expected, sizes


def export(log: EpisodeLog, n_envs: int) -> list[dict[str, Any]]:
    logs = [log.export(i) for i in range(n_envs)]
    return [{**one, "actions": one["actions"].tolist()} for one in logs]


@pytest.mark.parametrize("n_steps", [0, 1, 255, 257, 1000, 2003])
def test_what_was_done_since_each_start_is_kept(n_steps: int) -> None:
    log = EpisodeLog(3)
    expected, _ = play(log, (1, 37, 900), n_steps)
    assert export(log, 3) == expected


def test_the_log_keeps_a_copy_and_returns_it() -> None:
    log = EpisodeLog(1)
    log.begin(0, {})
    actions = np.array([3])
    kept = log.append(actions)
    actions[0] = 9
    assert kept.tolist() == [3]
    assert log.export(0)["actions"].tolist() == [3]


def test_an_exported_log_does_not_follow_the_log() -> None:
    log = EpisodeLog(1)
    log.begin(0, {})
    row = log.append(np.array([3]))
    exported = log.export(0)["actions"]
    row[0] = 9
    assert exported.tolist() == [3]


def test_rows_that_no_open_episode_needs_are_dropped() -> None:
    _, sizes = play(EpisodeLog(2), (10, 37), 5000)
    # The longest stretch is the first multiple of 37 from 256 on, 259 steps, and twice as many
    # rows may lie there before the old ones are dropped.
    assert max(sizes) <= 2 * 259


def test_a_long_episode_leaves_no_long_log_behind() -> None:
    log = EpisodeLog(1)
    _, sizes = play(log, (3000,), 2999)
    assert sizes == list(range(1, 3000))  # all of it may be needed
    _, sizes = play(log, (10,), 3000)
    assert max(sizes) <= 2 * 2999
    assert sizes[-1] <= 2 * 260


def test_a_loaded_log_goes_on_and_is_trimmed() -> None:
    log = EpisodeLog(2)
    expected, _ = play(log, (600, 37), 590)
    other = EpisodeLog(2)
    other.load([log.export(i) for i in range(2)], np.empty((2, 2), int))
    assert export(other, 2) == expected
    _, sizes = play(other, (10, 37), 3000)
    assert max(sizes) <= 2 * 590
