import pytest

from tests.helpers.displays import FakeClock
from utils.playback.pace import SPEEDS, Pace


def test_states_are_due_one_frame_after_another():
    clock = FakeClock()
    pace = Pace(10, clock=clock)
    assert pace.seconds_left() == 0.0
    pace.advance()
    assert pace.seconds_left() == pytest.approx(0.1)
    clock.now = 0.14  # late by 0.04: the next one is due at 0.2 all the same
    pace.advance()
    assert pace.seconds_left() == pytest.approx(0.06)


def test_who_has_stood_still_goes_on_from_now():
    clock = FakeClock()
    pace = Pace(10, clock=clock)
    pace.advance()
    clock.now = 100.0
    pace.advance()  # due 0.25 s ago at most, so now + 0.1 - 0.25
    assert pace.seconds_left() == 0.0
    pace.advance()
    pace.advance()
    assert pace.seconds_left() == pytest.approx(0.05)


def test_a_change_of_speed_is_felt_at_once():
    clock = FakeClock()
    pace = Pace(1, clock=clock)
    pace.advance()
    clock.now = 0.5
    pace.faster()
    assert (pace.speed, pace.seconds_left()) == (2.0, pytest.approx(0.25))
    pace.slower()
    pace.slower()
    assert (pace.speed, pace.seconds_left()) == (0.5, pytest.approx(1.0))


def test_speeds_end_somewhere_and_any_speed_may_begin():
    pace = Pace(1, speed=3.0, clock=FakeClock())
    pace.slower()
    assert pace.speed == 2.0
    for _ in range(20):
        pace.faster()
    assert pace.speed == SPEEDS[-1]
    for _ in range(20):
        pace.slower()
    assert pace.speed == SPEEDS[0]


def test_late_states_are_left_out_but_ten_a_second_are_drawn():
    clock = FakeClock()
    pace = Pace(1000, clock=clock)
    drawn = 0
    for _ in range(1000):  # each state takes 10 ms, ten times too long
        clock.now += 0.01
        drawn += pace.has_time_to_draw()
        pace.advance()
    # 10 s at 10 pictures a second, and one at the beginning that is not late yet.
    assert 90 <= drawn <= 110
    pace.is_paused = True
    assert pace.has_time_to_draw()
    assert pace.has_time_to_draw()


def test_in_time_every_state_is_drawn():
    clock = FakeClock()
    pace = Pace(100, clock=clock)
    for _ in range(50):
        clock.now += pace.seconds_left()
        assert pace.has_time_to_draw()
        pace.advance()


def test_speed_in_words():
    pace = Pace(1, clock=FakeClock())
    assert pace.describe() == ""
    pace.faster()
    assert pace.describe() == "2x"
    pace.is_paused = True
    assert pace.describe() == "paused"
