import math

import numpy as np
import pytest
import torch

from utils.verification.equality import compare_rows, compare_states, count_numbers, is_same


@pytest.mark.parametrize(
    ("stored", "again", "tolerance", "expected"),
    [
        (1.0, 1.0, 0.0, True),
        (1.0, math.nextafter(1.0, 2.0), 0.0, False),
        (1.0, 1.0005, 1e-3, True),
        (1.0, 1.002, 1e-3, False),
        (-1.0, 1.0, 1e-3, False),
        (math.nan, math.nan, 0.0, True),
        (math.nan, 1.0, 1e-3, False),
        (math.inf, math.inf, 1e-3, True),
        (math.inf, 1e300, 1e-3, False),
        (None, 1.0, 0.0, False),
        ("a", "a", 0.0, True),
        (3, 3.0, 0.0, True),
    ],
)
def test_when_numbers_are_the_same(stored, again, tolerance, expected):
    assert is_same(stored, again, tolerance=tolerance) is expected


def test_rows_are_compared_but_for_clocks():
    stored = {"epoch": 3, "timesteps": 30, "train/loss/a": 1.0, "train/time/seconds": 5.0}
    assert compare_rows(stored, stored | {"train/time/seconds": 6.0}, tolerance=0.0) is None
    found = compare_rows(stored, stored | {"train/loss/a": 2.0, "train/roll/b": 1.0}, tolerance=0.0)
    assert found is not None
    assert (found.epoch, found.timesteps) == (3, 30)
    assert {v.key: (v.stored, v.again) for v in found.values} == {
        "train/loss/a": (1.0, 2.0),
        "train/roll/b": (None, 1.0),
    }
    assert not found.is_of_update_alone
    found = compare_rows(stored, stored | {"train/loss/a": 2.0}, tolerance=0.0)
    assert found is not None
    assert found.is_of_update_alone


def state(**changes):
    return {
        "policy": {"weight": torch.tensor([[1.0, 2.0]]), "steps": torch.tensor(3)},
        "optimizer": {"state": [{"exp_avg": torch.zeros(2)}]},
        "counters": {"epoch": 4},
        "source": {"table": np.arange(3)},
        "callbacks": {"Clock": {"seconds": 3.0}},
        **changes,
    }


def test_places_of_a_checkpoint_that_differ_are_named():
    assert compare_states(state(), state(), tolerance=0.0) == []
    assert compare_states(state(), state(callbacks={}), tolerance=0.0) == []
    other = state(
        policy={"weight": torch.tensor([[1.0, 2.0000002]]), "steps": torch.tensor(3)},
        counters={"epoch": 5},
        source={"table": np.array([0, 1, 3])},
        optimizer={"state": [{"exp_avg": torch.tensor([0.0, -0.0])}]},
    )
    assert compare_states(state(), other, tolerance=0.0) == [
        "policy.weight",
        "optimizer.state[0].exp_avg",
        "counters.epoch",
        "source.table",
    ]
    assert compare_states(state(), other, tolerance=1e-3) == []


@pytest.mark.parametrize(
    "policy",
    [
        {"weight": torch.tensor([[1.0, 2.0]])},
        {"weight": torch.tensor([1.0, 2.0]), "steps": torch.tensor(3)},
        {"weight": torch.tensor([[1.0, 2.0]], dtype=torch.float64), "steps": torch.tensor(3)},
        {"weight": torch.tensor([[1.0, 2.1]]), "steps": torch.tensor(3)},
        {"weight": torch.tensor([[1.0, 2.0]]), "steps": torch.tensor(4)},
    ],
)
@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_other_shapes_types_and_values_differ(policy, tolerance):
    assert len(compare_states(state(), state(policy=policy), tolerance=tolerance)) == 1


def test_numbers_are_counted():
    assert count_numbers(state()) == 2 + 1 + 2
