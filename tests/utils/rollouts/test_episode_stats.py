from __future__ import annotations

import json

import numpy as np

from utils.rollouts import EpisodeTracker


def flags(*values: int) -> np.ndarray:
    return np.array(values, dtype=bool)


def test_returns_and_lengths_of_finished_episodes() -> None:
    tracker = EpisodeTracker(3)
    assert tracker.update(np.array([1.0, 2.0, 3.0]), flags(0, 0, 0)) is None
    finished = tracker.update(np.array([1.0, 2.0, 3.0]), flags(1, 0, 1))
    assert finished.env_index.tolist() == [0, 2]
    assert finished.returns.tolist() == [2.0, 6.0]
    assert finished.lengths.tolist() == [2, 2]
    finished = tracker.update(np.array([10.0, 2.0, 0.0]), flags(1, 1, 0))
    # env 0 began anew; env 1 goes back to the start
    assert finished.returns.tolist() == [10.0, 6.0]
    assert finished.lengths.tolist() == [1, 3]
    assert list(tracker.window_returns) == [2.0, 6.0, 10.0, 6.0]
    assert list(tracker.window_lengths) == [2, 2, 1, 3]


def test_what_was_reported_does_not_change_later() -> None:
    tracker = EpisodeTracker(1)
    finished = tracker.update(np.array([4.0]), flags(1))
    tracker.update(np.array([9.0]), flags(0))
    assert finished.returns.tolist() == [4.0]


def test_the_window_keeps_the_newest() -> None:
    tracker = EpisodeTracker(1, window=3)
    for reward in (1.0, 2.0, 3.0, 4.0):
        tracker.update(np.array([reward]), flags(1))
    assert list(tracker.window_returns) == [2.0, 3.0, 4.0]


def test_episodes_that_do_not_count_are_told_of_nowhere() -> None:
    tracker = EpisodeTracker(2)
    finished = tracker.update(np.array([1.0, 5.0]), flags(1, 1), is_counted=flags(0, 1))
    assert finished.env_index.tolist() == [1]
    assert list(tracker.window_returns) == [5.0]
    assert tracker.update(np.array([1.0, 5.0]), flags(1, 0), is_counted=flags(0, 1)) is None
    finished = tracker.update(np.array([1.0, 5.0]), flags(1, 1))
    # env 0 began anew each time; env 1 has two steps
    assert finished.returns.tolist() == [1.0, 10.0]


def test_reset_forgets_running_episodes_and_keeps_the_window() -> None:
    tracker = EpisodeTracker(2)
    tracker.update(np.array([7.0, 7.0]), flags(1, 0))
    tracker.update(np.array([1.0, 1.0]), flags(0, 0))
    tracker.reset(np.array([1]))
    finished = tracker.update(np.array([1.0, 1.0]), flags(1, 1))
    assert finished.returns.tolist() == [2.0, 1.0]
    tracker.update(np.array([1.0, 1.0]), flags(0, 0))
    tracker.reset()
    finished = tracker.update(np.array([1.0, 1.0]), flags(1, 1))
    assert finished.lengths.tolist() == [1, 1]
    assert tracker.window_returns[0] == 7.0


def test_state_goes_through_json_and_goes_on() -> None:
    tracker, other = EpisodeTracker(2), EpisodeTracker(2)
    tracker.update(np.array([1.0, 2.0]), flags(1, 0))
    other.update(np.array([50.0, 50.0]), flags(1, 1))
    other.load_state_dict(json.loads(json.dumps(tracker.state_dict())))
    for each in (tracker, other):
        finished = each.update(np.array([1.0, 2.0]), flags(0, 1))
        assert finished.returns.tolist() == [4.0]
        assert finished.lengths.tolist() == [2]
        assert list(each.window_returns) == [1.0, 4.0]
