"""Values that change over a run: pure functions of the step, without state."""

from utils.schedules.linear import Schedulable, ScheduleSpec, schedule_bounds, schedule_value

__all__ = ["Schedulable", "ScheduleSpec", "schedule_bounds", "schedule_value"]
