import math

import numpy as np
import pytest
import torch

from utils.metrics import Counters, MetricsRecorder
from utils.metrics_config import MetricsConfig


@pytest.fixture
def recorder():
    names = {name: {"reducer": name} for name in ("mean", "last", "max", "min", "sum")}
    config = MetricsConfig.model_validate({"groups": {"train/x": {"title": "x", "metrics": names}}})
    return MetricsRecorder(config)


def test_each_reducer(recorder):
    for name in ("mean", "last", "max", "min", "sum", "without_entry"):
        recorder.record_many({f"train/x/{name}": 3.0})
        recorder.record_many({f"train/x/{name}": 4.0})
        recorder.record_many({f"train/x/{name}": 2.0})
    assert recorder.flush() == {
        "train/x/mean": 3.0,
        "train/x/last": 2.0,
        "train/x/max": 4.0,
        "train/x/min": 2.0,
        "train/x/sum": 9.0,
        "train/x/without_entry": 3.0,
    }


def test_buffers_are_empty_after_flush_and_silent_keys_absent(recorder):
    recorder.record("train/x/mean", 1.0)
    assert len(recorder) == 1
    recorder.flush()
    assert len(recorder) == 0
    recorder.record("train/x/last", 1)
    assert recorder.flush() == {"train/x/last": 1.0}
    assert recorder.flush() == {}


@pytest.mark.parametrize("reducer", ["mean", "last", "max", "min", "sum"])
def test_nan_is_kept(recorder, reducer):
    recorder.record(f"train/x/{reducer}", 1.0)
    recorder.record(f"train/x/{reducer}", math.nan)
    assert math.isnan(recorder.flush()[f"train/x/{reducer}"])


def test_infinities_of_both_signs_are_nan_not_an_error(recorder):
    recorder.record_many({"train/x/mean": math.inf})
    recorder.record_many({"train/x/mean": -math.inf})
    assert math.isnan(recorder.flush()["train/x/mean"])


@pytest.mark.parametrize(
    "key", ["loss", "train/loss", "trian/loss/value", "train/loss/value/x", "train/Loss/value", ""]
)
def test_malformed_key(recorder, key):
    with pytest.raises(AssertionError, match="is not <train"):
        recorder.record(key, 1.0)


@pytest.mark.parametrize("value", [torch.ones(()), np.ones(()), "1", None])
def test_only_python_numbers(recorder, value):
    with pytest.raises(AssertionError, match="is not a number"):
        recorder.record("train/x/mean", value)


def test_counters_round_trip_and_refuse_a_missing_count():
    counters = Counters(epoch=3, timesteps=6144, vec_steps=768, updates=120, episodes=7)
    assert Counters.from_dict(counters.to_dict()) == counters
    with pytest.raises(AssertionError):
        Counters.from_dict({"epoch": 3})
