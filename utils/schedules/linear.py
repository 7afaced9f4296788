"""Constant and linear schedules over the timesteps of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """A straight line from `start` to `end`, flat before `from_` and after `to`."""

    start: float
    """Value until `from_`."""
    end: float
    """Value after `to`."""
    from_: float = 0.0
    """Where the line begins: a fraction of the run in [0, 1], or timesteps if above 1."""
    to: float = 1.0
    """Where the line ends: a fraction of the run in [0, 1], or timesteps if above 1."""


Schedulable = float | ScheduleSpec
"""A constant or a schedule."""


def schedule_bounds(schedule: ScheduleSpec, *, max_timesteps: int) -> tuple[float, float]:
    """Compute where a schedule's line begins and ends.

    Args:
        schedule: The schedule.
        max_timesteps: Length of the whole run in timesteps, > 0.

    Returns:
        Begin and end in timesteps; they need not be whole numbers.
    """
    begin, end = schedule.from_, schedule.to
    return (
        begin * max_timesteps if begin <= 1 else begin,
        end * max_timesteps if end <= 1 else end,
    )


def schedule_value(schedule: Schedulable, *, timesteps: int, max_timesteps: int) -> float:
    """Compute the value that holds for the epoch which begins after `timesteps`.

    value = start + (end - start) * clip((timesteps - begin) / (to - begin), 0, 1)

    The value depends on nothing but the count of timesteps of the whole run, so a resumed run
    continues its line. `lin_3e-4` over four epochs gives 3e-4, 2.25e-4, 1.5e-4, 0.75e-4. A line
    of no length is a step: `start` before it, `end` from it on.

    Args:
        schedule: A number or a schedule.
        timesteps: Timesteps done since the run began, >= 0.
        max_timesteps: Length of the whole run in timesteps, > 0.

    Returns:
        The value, between `start` and `end`.
    """
    assert timesteps >= 0, timesteps
    assert max_timesteps > 0, max_timesteps
    if not isinstance(schedule, ScheduleSpec):
        return float(schedule)
    begin, end = schedule_bounds(schedule, max_timesteps=max_timesteps)
    assert begin <= end, (begin, end)
    if timesteps >= end:
        return schedule.end
    if timesteps <= begin:
        return schedule.start
    return schedule.start + (schedule.end - schedule.start) * (timesteps - begin) / (end - begin)
