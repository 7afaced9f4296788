import pytest

from utils.sweeps.spec import Metric
from utils.sweeps.trial import metric_values
from utils.sweeps.validate import metric_problems

ROWS = [
    {"val/roll/ep_rew_mean": 1.0, "train/loss/value": 3.0},
    {"train/loss/value": 2.0},
    {"val/roll/ep_rew_mean": 5.0, "train/loss/value": 1.0},
]


@pytest.mark.parametrize(
    ("name", "goal", "values"),
    [
        ("val/roll/ep_rew_mean", "maximize", [1.0, 5.0]),
        ("train/loss/value", "minimize", [3.0, 2.0, 1.0]),
        ("val/best/ep_rew_mean", "maximize", [1.0, 5.0]),  # only a finished run has it
        ("train/total/seconds", "minimize", []),  # of returns more is better, of this less
    ],
)
def test_what_trials_are_compared_by(name, goal, values):
    assert metric_values(ROWS, Metric(name=name, goal=goal)) == values


def test_metrics_that_no_training_has_are_told():
    assert metric_problems("val/roll/ep_rew_mean") == []
    assert metric_problems("val/env/whatever_an_environment_tells") == []
    assert metric_problems("test/best/ep_rew_mean") == []
    (line,) = metric_problems("train/lost/value")
    assert line.startswith("no training has a metric 'train/lost/value': did you mean 'train/loss/")
