import pytest
from pydantic_core import PydanticCustomError

from utils.config.schedule_spec import parse_schedule, schedule_to_plain
from utils.schedules import ScheduleSpec


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (0.2, 0.2),
        (0, 0.0),
        ("lin_0.001", ScheduleSpec(start=0.001, end=0.0)),
        ("lin_3e-4", ScheduleSpec(start=0.0003, end=0.0)),
        ("lin_.5", ScheduleSpec(start=0.5, end=0.0)),
        ("lin_2", ScheduleSpec(start=2.0, end=0.0)),
        ({"start": 1, "end": 0.1}, ScheduleSpec(1.0, 0.1)),
        ({"start": 0, "end": 1, "from": 0.1, "to": 5000}, ScheduleSpec(0.0, 1.0, 0.1, 5000.0)),
    ],
)
def test_the_three_forms(written, expected):
    value = parse_schedule(written)
    assert value == expected
    assert parse_schedule(schedule_to_plain(value)) == value


@pytest.mark.parametrize(
    "written",
    [
        "lin_", "lin_x", "lin0.1", "lin_-0.1", "LIN_0.1", "lin_0.1 ", "linear_0.1", "lin_1e999",
        "lin_nan", "0.1", "1e-3", "12:30", -0.1, True, None, [0.1], float("nan"), float("inf"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(written):
    with pytest.raises(PydanticCustomError, match="must be a number >= 0, lin_<start>, or"):
        parse_schedule(written)


@pytest.mark.parametrize(
    ("written", "kind", "context"),
    [
        ({"start": 1, "end": 0, "form": 0.1}, "schedule_key", "form"),
        ({"start": "1", "end": 0}, "schedule_number", "start"),
        ({"start": 1, "end": 0, "to": -1}, "schedule_number", "to"),
        ({"start": 1}, "schedule_missing", "end"),
        ({"end": 1}, "schedule_missing", "start"),
    ],
)
def test_a_faulty_mapping_names_its_key(written, kind, context):
    with pytest.raises(PydanticCustomError) as caught:
        parse_schedule(written)
    assert caught.value.type == kind
    assert context in caught.value.context.values()


def test_a_schedule_made_in_code_is_checked_too():
    with pytest.raises(PydanticCustomError):
        parse_schedule(ScheduleSpec(start=-1.0, end=0.0))
