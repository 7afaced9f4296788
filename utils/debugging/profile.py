"""Where the time of a training goes: phases inside phases, a table, and a trace for Perfetto."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.storage import write_bytes
from utils.text_tables import format_table

MOST_EVENTS = 200_000
"""Spans that a trace keeps; later ones are in the table alone."""


@dataclass(slots=True)
class PhaseTime:
    """The time of one phase, wherever it occurs inside the same phases."""

    n_calls: int = 0
    seconds: float = 0.0
    """With the phases inside it."""
    own_seconds: float = 0.0
    """Without them."""
    longest: float = 0.0


class PhaseClock:
    """Measures named spans, which may lie inside each other, of the thread that calls it."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.perf_counter,
        wait: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the clock.

        Args:
            clock: Seconds that only go forward.
            wait: Called where a span begins and ends: waits for a device that works by itself.
        """
        self._clock = clock
        self._wait = wait
        self._started = clock()
        self._open: list[tuple[str, float]] = []
        self._inside: list[float] = []
        self.phases: dict[tuple[str, ...], PhaseTime] = {}
        """By the names of the phases around it and its own, in the order in which they ended."""
        self._events: list[tuple[str, float, float]] = []
        self._n_dropped = 0
        self._undo: list[Callable[[], None]] = []

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Measure what happens inside."""
        self._wait()
        began = self._clock()
        self._open.append((name, began))
        self._inside.append(0.0)
        try:
            yield
        finally:
            self._wait()
            self._end(began)

    def measure(self, owner: Any, method: str, name: str) -> None:
        """Let every call of a method be a span, until `release`.

        Args:
            owner: The object whose method it is; other objects of its class are left alone.
            method: Name of the method.
            name: Of the span.
        """
        original = getattr(owner, method)

        @functools.wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.span(name):
                return original(*args, **kwargs)

        was_own = method in vars(owner)
        setattr(owner, method, timed)
        undo = functools.partial(setattr, owner, method, original)
        self._undo.append(undo if was_own else functools.partial(delattr, owner, method))

    def release(self) -> None:
        """Give all methods back."""
        while self._undo:
            self._undo.pop()()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return self._clock() - self._started

    def _end(self, began: float) -> None:
        path = tuple(name for name, _ in self._open)
        name, _ = self._open.pop()
        inside = self._inside.pop()
        seconds = self._clock() - began
        if self._inside:
            self._inside[-1] += seconds
        phase = self.phases.setdefault(path, PhaseTime())
        phase.n_calls += 1
        phase.seconds += seconds
        phase.own_seconds += seconds - inside
        phase.longest = max(phase.longest, seconds)
        if len(self._events) < MOST_EVENTS:
            self._events.append((name, began, seconds))
        else:
            self._n_dropped += 1

    def table(self) -> str:
        """Return a table of the phases, each under the one that it lies in."""
        total = self.seconds
        header = ("phase", "calls", "time", "share", "own", "mean ms", "longest ms")
        rows = []
        for path in _in_tree_order(self.phases):
            phase = self.phases[path]
            rows.append(
                (
                    "  " * (len(path) - 1) + path[-1],
                    f"{phase.n_calls:,}",
                    f"{phase.seconds:.2f} s",
                    f"{phase.seconds / total:.1%}",
                    f"{phase.own_seconds / total:.1%}",
                    f"{1000 * phase.seconds / phase.n_calls:.3g}",
                    f"{1000 * phase.longest:.3g}",
                )
            )
        known = sum(phase.seconds for path, phase in self.phases.items() if len(path) == 1)
        rest = max(0.0, total - known)
        rows.append(("between them", "", f"{rest:.2f} s", f"{rest / total:.1%}", "", "", ""))
        return format_table(header, rows)

    def write_trace(self, path: Path) -> None:
        """Write a file that ui.perfetto.dev and chrome://tracing open.

        Raises:
            StorageError: The file cannot be written.
        """
        pid = os.getpid()
        events = [
            {
                "name": name,
                "ph": "X",
                "ts": round(1e6 * (began - self._started), 1),
                "dur": round(1e6 * seconds, 1),
                "pid": pid,
                "tid": 1,
            }
            for name, began, seconds in self._events
        ]
        names = [{"name": "thread_name", "ph": "M", "pid": pid, "tid": 1, "args": {"name": "main"}}]
        content = {
            "traceEvents": names + events,
            "displayTimeUnit": "ms",
            "otherData": {"spans_left_out": self._n_dropped},
        }
        write_bytes(path, json.dumps(content).encode(), sync=False)


def _in_tree_order(phases: dict[tuple[str, ...], PhaseTime]) -> list[tuple[str, ...]]:
    """Return the paths so that each follows its parent, the longest of siblings first."""
    order: list[tuple[str, ...]] = []

    def visit(parent: tuple[str, ...]) -> None:
        children = [p for p in phases if p[:-1] == parent]
        for path in sorted(children, key=lambda p: -phases[p].seconds):
            order.append(path)
            visit(path)

    visit(())
    return order
