from __future__ import annotations

import json

import numpy as np
import pytest

from utils.rollouts import EpisodeTracker
from utils.rollouts.episode_metrics import MetricsWindow, mean_metrics, pick_rows
from utils.rollouts.evaluation import EpisodeLedger

NAN = float("nan")


def test_the_rows_of_some_environments_are_picked() -> None:
    picked = pick_rows({"regret": np.array([1.0, NAN, 3.0])}, np.array([0, 2]))
    assert {name: values.tolist() for name, values in picked.items()} == {"regret": [1.0, 3.0]}


def test_a_mean_is_over_the_episodes_that_have_a_value() -> None:
    # (1 + 3) / 2 = 2; nobody told of b
    assert mean_metrics({"a": [1.0, NAN, 3.0], "b": [NAN]}) == {"a": 2.0}


def test_the_window_keeps_the_newest_and_goes_through_json() -> None:
    window = MetricsWindow(2)
    window.extend({"regret": np.array([9.0, 1.0, NAN])})
    window.extend({"regret": np.array([4.0])})
    other = MetricsWindow(2)
    other.load_state_dict(json.loads(json.dumps(window.state_dict())))
    assert other.means() == window.means() == {"regret": 2.5}  # (1 + 4) / 2


def test_a_tracker_tells_of_counted_episodes_only() -> None:
    tracker = EpisodeTracker(3)
    finished = tracker.update(
        np.ones(3),
        np.array([True, False, True]),
        is_counted=np.array([True, True, False]),
        metrics={"regret": np.array([5.0, NAN, 7.0])},
    )
    assert finished.metrics["regret"].tolist() == [5.0]
    assert tracker.window_metrics.means() == {"regret": 5.0}
    assert tracker.update(np.ones(3), np.zeros(3, bool)) is None


def test_a_tracker_takes_a_state_without_metrics() -> None:
    tracker = EpisodeTracker(1)
    state = tracker.state_dict()
    del state["window_metrics"]
    tracker.load_state_dict(state)
    assert tracker.window_metrics.means() == {}


def test_an_evaluation_counts_what_its_quotas_count() -> None:
    tracker, ledger = EpisodeTracker(2), EpisodeLedger(3, 2)  # two episodes of the first, one
    for value in (1.0, 2.0, 30.0):
        over = np.ones(2, bool)
        metrics = {"regret": np.array([value, 10 * value])}
        ledger.take_step(tracker.update(np.ones(2), over, metrics=metrics))
    result = ledger.result(seconds=0.0, seed=0, deterministic=True)
    # first: 1 and 2; second: 10; what came later is over quota
    assert result.metrics == {"regret": pytest.approx(13 / 3)}
