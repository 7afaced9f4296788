from __future__ import annotations

from utils.phases.phase_clock import PhaseClock, progress_line


def make():
    told, now = [], [0.0]
    return PhaseClock(told.append, interval_seconds=10.0, clock=lambda: now[0]), told, now


def test_it_tells_rate_and_time_left_now_and_then() -> None:
    clock, told, now = make()
    for seconds in range(0, 31, 5):
        now[0] = float(seconds)
        clock.note("see", 2 * seconds, 100, "updates")
    assert told == [
        "see: 20 of 100 updates (20 %), 2/s, 40s left",
        "see: 40 of 100 updates (40 %), 2/s, 30s left",
        "see: 60 of 100 updates (60 %), 2/s, 20s left",
    ]


def test_the_end_of_a_stretch_is_told_at_once_and_the_next_one_begins_anew() -> None:
    clock, told, now = make()
    clock.note("see", 50, 100, "updates")  # resumed
    now[0] = 1.0
    clock.note("see", 100, 100, "updates")
    now[0] = 2.0
    clock.note("see", 10, 100, "updates")  # another one of that name
    now[0] = 22.0
    clock.note("see", 30, 100, "updates")
    assert told == [
        "see: 100 of 100 updates (100 %), 50/s",
        "see: 30 of 100 updates (30 %), 1/s, 1m 10s left",
    ]


def test_what_nobody_knows_is_left_out() -> None:
    assert progress_line("play", 5, None, "waves", rate=0.0) == "play: 5 waves"
    line = progress_line("play", 1000, 100_000, "steps", rate=12.5)
    assert line == "play: 1,000 of 100,000 steps (1 %), 12.5/s, 2h 12m left"
