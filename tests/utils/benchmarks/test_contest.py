import pytest

from utils.benchmarks import Contestant, hold_contest


class Clock:
    """Goes on by what the contestants cost."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def contestant(name, clock, log, *, units, seconds, **kwargs):
    def advance():
        log.append(name)
        clock.now += seconds
        return units

    return Contestant(name, advance, **kwargs)


def test_rates_are_units_by_the_time_that_really_passed():
    clock, log = Clock(), []
    # Calls of 0.4 s: a window of 1 s takes three of them, 30 units in 1.2 s.
    one = contestant("one", clock, log, units=10, seconds=0.4)
    (score,) = hold_contest(
        [one], n_windows=2, seconds=1.0, clock=clock, cpu_clock=lambda: clock.now / 2
    )
    assert score.rates == pytest.approx((25.0, 25.0))
    assert score.cpu_rates == pytest.approx((50.0, 50.0))
    assert score.median == pytest.approx(25.0)


def test_all_warm_up_and_then_take_turns_forth_and_back():
    clock, log = Clock(), []
    both = [contestant(name, clock, log, units=1, seconds=1.0) for name in "ab"]
    scores = hold_contest(both, n_windows=3, seconds=1.0, clock=clock, cpu_clock=clock)
    assert "".join(log) == "ab" + "ab" + "ba" + "ab"
    assert [score.name for score in scores] == ["a", "b"]


def test_processor_time_of_other_processes_is_not_made_up():
    clock = Clock()
    one = contestant("one", clock, [], units=1, seconds=1.0, has_processes=True)
    (score,) = hold_contest([one], n_windows=1, seconds=1.0, clock=clock, cpu_clock=clock)
    assert score.cpu_rates == ()


def test_one_slow_window_does_not_move_the_result():
    clock = Clock()
    costs = iter([1.0, 1.0, 1.0, 100.0])

    def advance():
        clock.now += next(costs)
        return 8

    (score,) = hold_contest(
        [Contestant("x", advance)], n_windows=3, seconds=0.5, clock=clock, cpu_clock=clock
    )
    assert score.rates == pytest.approx((8.0, 8.0, 0.08))
    assert score.median == pytest.approx(8.0)


def test_two_of_one_name_are_a_mistake():
    two = [Contestant("x", lambda: 1), Contestant("x", lambda: 1)]
    with pytest.raises(AssertionError, match="x"):
        hold_contest(two, n_windows=1, seconds=0.001)
