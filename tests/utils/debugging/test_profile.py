"""Spans by a clock that is moved by hand."""

import json

from utils.debugging.profile import PhaseClock


class Hand:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def example():
    hand = Hand()
    clock = PhaseClock(clock=hand)
    for seconds in (3.0, 5.0):
        with clock.span("collect"):
            hand.now += 1.0
            with clock.span("environment"):
                hand.now += seconds
    hand.now += 2.0
    return hand, clock


def test_phases_inside_phases_are_counted_once():
    _, clock = example()
    outer, inner = clock.phases[("collect",)], clock.phases[("collect", "environment")]
    assert (outer.n_calls, outer.seconds, outer.own_seconds, outer.longest) == (2, 10.0, 2.0, 6.0)
    assert (inner.n_calls, inner.seconds, inner.own_seconds, inner.longest) == (2, 8.0, 8.0, 5.0)
    assert clock.seconds == 12.0


def test_the_table_has_each_phase_under_its_own_and_what_lies_between():
    hand, clock = example()
    with clock.span("update"):
        hand.now += 20.0
    lines = clock.table().splitlines()
    assert [line.split()[0] for line in lines[2:]] == [
        "update",
        "collect",
        "environment",
        "between",
    ]
    assert lines[4].startswith("  environment")
    assert "20.00 s" in lines[2]
    assert "62.5%" in lines[2]  # of 32 seconds
    assert lines[5].split()[2:] == ["2.00", "s", "6.2%"]


def test_the_trace_is_what_perfetto_reads(tmp_path):
    _, clock = example()
    clock.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    # Microseconds since the start.
    assert ("collect", 0.0, 4e6) in spans
    assert ("environment", 1e6, 3e6) in spans
    assert ("collect", 4e6, 6e6) in spans
    assert {e["pid"] for e in events} == {events[0]["pid"]}


def test_methods_are_measured_until_they_are_given_back():
    class Worker:
        def work(self, x):
            """Work."""
            return x + 1

    hand = Hand()
    clock, worker, other = PhaseClock(clock=hand), Worker(), Worker()
    own = worker.other = lambda: 7
    clock.measure(worker, "work", "working")
    clock.measure(worker, "other", "otherwise")
    assert worker.work(1) == 2
    assert worker.work.__doc__ == "Work."
    assert other.work(1) == 2
    assert worker.other() == 7
    assert clock.phases[("working",)].n_calls == 1
    clock.release()
    assert "work" not in vars(worker)
    assert worker.other is own
    worker.work(1)
    assert clock.phases[("working",)].n_calls == 1


def test_an_exception_ends_its_span():
    clock = PhaseClock(clock=Hand())
    try:
        with clock.span("collect"):
            raise ValueError
    except ValueError:
        pass
    with clock.span("update"):
        pass
    assert set(clock.phases) == {("collect",), ("update",)}
