from __future__ import annotations

from fractions import Fraction

import pytest

from utils.phases import UpdateBudget


@pytest.mark.parametrize(
    ("ratio", "fraction"), [(1.0, Fraction(1)), (0.1, Fraction(1, 10)), (1 / 3, Fraction(1, 3))]
)
def test_a_ratio_is_the_fraction_that_was_meant(ratio: float, fraction: Fraction) -> None:
    assert UpdateBudget(ratio).ratio == fraction


def test_no_update_is_lost_or_gained_however_the_steps_are_cut() -> None:
    budget = UpdateBudget(0.3)
    made = []
    for timesteps in (1, 1, 1, 1, 4, 8, 1, 83):
        budget.pay_in(timesteps)
        made.append(budget.due)
        budget.spend(budget.due)
    # floor(0.3 t) at t = 1, 2, 3, 4, 8, 16, 17, 100 is 0, 0, 0, 1, 2, 4, 5, 30.
    assert made == [0, 0, 0, 1, 1, 2, 1, 25]
    assert sum(made) == 30


def test_a_million_tenths_are_a_hundred_thousand() -> None:
    budget = UpdateBudget(0.1)
    for _ in range(1000):
        budget.pay_in(1000)
        budget.spend(budget.due)
    assert budget.updates == 100_000


def test_what_is_due_is_not_overspent() -> None:
    budget = UpdateBudget(0.25)
    budget.pay_in(3)
    assert budget.due == 0
    with pytest.raises(AssertionError):
        budget.spend(1)


def test_after_a_restart_nothing_is_due() -> None:
    budget = UpdateBudget(2.0)
    budget.pay_in(1000)
    budget.restart()
    assert budget.due == 0
    budget.pay_in(2)
    assert budget.due == 4


def test_counts_are_saved() -> None:
    budget = UpdateBudget(0.5)
    budget.pay_in(7)
    budget.spend(2)
    other = UpdateBudget(0.5)
    other.load_state_dict(budget.state_dict())
    assert (other.timesteps, other.updates, other.due) == (7, 2, 1)
