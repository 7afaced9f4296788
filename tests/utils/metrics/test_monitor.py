import math

import pytest

from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.metrics import MetricsMonitor
from utils.metrics_config import MetricsConfig

KEY = "train/ppo/approx_kl"


def make_monitor(**rule):
    alert = {"metric": KEY, "message": "m", "causes": ["c"], "fixes": ["f"], **rule}
    return MetricsMonitor(MetricsConfig.model_validate({"groups": {}, "alerts": [alert]}))


def alarming_epochs(monitor, values, *, first_epoch=1):
    return [
        epoch
        for epoch, value in enumerate(values, first_epoch)
        if monitor.check({KEY: value}, epoch=epoch)
    ]


def test_bounds_are_exclusive():
    monitor = make_monitor(above=1.0, below=-1.0, cooldown_epochs=0)
    assert alarming_epochs(monitor, [1.0, 1.1, -1.0, -1.1, 0.0]) == [2, 4]


def test_values_in_a_row_warm_up_and_cool_down():
    monitor = make_monitor(above=1.0, for_epochs=3, after_epochs=4, cooldown_epochs=2)
    # 2 2 0 2 2 2: the third in a row is epoch 6. Silent for 7 and 8, then again.
    assert alarming_epochs(monitor, [2, 2, 0, 2, 2, 2, 2, 2, 2, 2]) == [6, 9]
    assert alarming_epochs(make_monitor(above=1.0, after_epochs=2), [2, 2, 2]) == [3]


def test_growth_over_the_median_needs_a_full_window():
    monitor = make_monitor(grows_by_factor=10.0, window=3)
    # One outlier does not move the median of 1, 1, 90.
    assert alarming_epochs(monitor, [1.0, 90.0, 1.0, 1.0, 10.5]) == [5]


def test_shrinking_below_the_median_of_positive_values_only():
    assert alarming_epochs(make_monitor(shrinks_to=0.1, window=3), [5, 6, 5, 0.6, 0.4]) == [5]
    assert alarming_epochs(make_monitor(shrinks_to=0.1, window=3), [-5, -6, -5, -60]) == []


def test_fall_from_the_best():
    # Range 0 to 100: half of it is lost below 50.
    assert alarming_epochs(make_monitor(falls_from_best=0.5), [0, 100, 50, 49]) == [4]
    assert alarming_epochs(make_monitor(falls_from_best=0.5), [-200, -100, -149, -151]) == [4]


def test_a_fall_is_told_with_its_numbers():
    monitor = make_monitor(falls_from_best=0.5)
    assert monitor.check({KEY: 480.0}, epoch=1) == monitor.check({KEY: 500.0}, epoch=2) == []
    (alert,) = monitor.check({KEY: 485.0}, epoch=3)
    # It has lost 15 of a range of 20.
    assert alert.bound == "has lost 75% of the range it had seen, 480 to 500"


def test_alert_says_what_why_and_what_to_try():
    (alert,) = make_monitor(above=0.05).check({KEY: 0.08, "train/x/y": 1.0}, epoch=7)
    assert alert.to_dict() == {
        "key": KEY,
        "value": 0.08,
        "epoch": 7,
        "bound": "above 0.05",
        "message": "m",
        "causes": ["c"],
        "fixes": ["f"],
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_number_that_is_not_finite_alarms_once_without_a_rule(value):
    monitor = make_monitor(above=1.0)
    (alert,) = monitor.check({"train/loss/value": value}, epoch=1)
    assert alert.key == "train/loss/value"
    assert alert.bound == "not a finite number"
    assert monitor.check({"train/loss/value": value}, epoch=2) == []


def test_nan_does_not_spoil_the_window():
    monitor = make_monitor(grows_by_factor=10.0, window=3)
    for epoch, value in enumerate([1.0, math.nan, 1.0, 1.0], 1):
        monitor.check({KEY: value}, epoch=epoch)
    assert len(monitor.check({KEY: 11.0}, epoch=5)) == 1


def test_absent_metric_is_not_judged():
    assert make_monitor(below=1.0).check({}, epoch=1) == []


def test_resumed_monitor_goes_on_like_one_that_never_stopped(tmp_path):
    values = [1.0, 2.0, 1.5, 1.0, 30.0, 40.0, 1.0, 1.0, 1.0, 30.0]
    rule = {"grows_by_factor": 10.0, "window": 3, "for_epochs": 2, "cooldown_epochs": 1}
    whole = alarming_epochs(make_monitor(**rule), values)
    assert whole == [6]
    first, second = make_monitor(**rule), make_monitor(**rule)
    before = alarming_epochs(first, values[:5])
    save_checkpoint(tmp_path / "a.ckpt", first.state_dict())
    second.load_state_dict(load_checkpoint(tmp_path / "a.ckpt"))
    assert before + alarming_epochs(second, values[5:], first_epoch=6) == whole


def test_memory_is_bounded():
    monitor = make_monitor(grows_by_factor=10.0, window=5)
    alarming_epochs(monitor, [1.0] * 1000)
    assert len(monitor.state_dict()["watches"][0]["window"]) == 5
