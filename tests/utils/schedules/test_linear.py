import pytest

from utils.schedules import ScheduleSpec, schedule_bounds, schedule_value


def values(schedule, *, at, max_timesteps):
    return [schedule_value(schedule, timesteps=t, max_timesteps=max_timesteps) for t in at]


def test_a_number_is_constant():
    assert values(0.2, at=[0, 50, 100, 900], max_timesteps=100) == [0.2] * 4


def test_the_value_of_an_epoch_is_that_of_its_start():
    # Four epochs of 256 timesteps: 3e-4 * (1 - 0/4), (1 - 1/4), (1 - 2/4), (1 - 3/4).
    schedule = ScheduleSpec(start=3e-4, end=0.0)
    got = values(schedule, at=[0, 256, 512, 768], max_timesteps=1024)
    assert got == pytest.approx([3e-4, 2.25e-4, 1.5e-4, 0.75e-4], rel=1e-12)


def test_fractions_of_the_run_bound_the_line():
    # From 250 to 750 timesteps of 1000; in the middle, 500, half of the way from 1 to 3.
    schedule = ScheduleSpec(start=1.0, end=3.0, from_=0.25, to=0.75)
    got = values(schedule, at=[0, 250, 500, 750, 1000, 2000], max_timesteps=1000)
    assert got == [1.0, 1.0, 2.0, 3.0, 3.0, 3.0]


def test_bounds_above_one_are_timesteps_whatever_the_length_of_the_run():
    schedule = ScheduleSpec(start=1.0, end=0.0, from_=100, to=300)
    assert schedule_bounds(schedule, max_timesteps=1000) == (100, 300)
    for max_timesteps in (200, 1000):
        assert values(schedule, at=[100, 150, 200], max_timesteps=max_timesteps) == [1, 0.75, 0.5]


def test_one_is_the_whole_run_and_not_the_first_timestep():
    assert schedule_bounds(ScheduleSpec(1.0, 0.0, from_=0, to=1), max_timesteps=80) == (0, 80)


def test_a_line_of_no_length_is_a_step():
    schedule = ScheduleSpec(start=1.0, end=0.0, from_=0.5, to=0.5)
    assert values(schedule, at=[49, 50, 51], max_timesteps=100) == [1.0, 0.0, 0.0]
    at_once = ScheduleSpec(start=1.0, end=0.05, from_=0.0, to=0.0)
    assert values(at_once, at=[0, 1], max_timesteps=5) == [0.05, 0.05]


def test_a_tenth_of_five_timesteps_ends_before_the_first_step():
    # 10 % of 5 timesteps is half a timestep: the start at 0, the end from 1 on.
    schedule = ScheduleSpec(start=1.0, end=0.05, to=0.1)
    assert values(schedule, at=[0, 1, 5], max_timesteps=5) == [1.0, 0.05, 0.05]


def test_misuse_is_an_assertion():
    with pytest.raises(AssertionError, match="-1"):
        schedule_value(0.1, timesteps=-1, max_timesteps=10)
    with pytest.raises(AssertionError, match="0"):
        schedule_value(0.1, timesteps=0, max_timesteps=0)
