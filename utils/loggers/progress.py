"""How fast a run goes and how long it still takes."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Sequence

from utils.loggers.number_text import format_duration, format_speed
from utils.phases import PhaseSpec
from utils.text_tables import counted

_WINDOW = 20
_RECENT_SECONDS = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class PhaseProgress:
    """Where a run stands among phases that each have a length of their own."""

    name: str
    number: int
    """From 1."""
    n_phases: int
    done: int
    total: int
    unit: str
    """Of `done` and `total`: timesteps, updates or cycles."""

    @property
    def fraction(self) -> float:
        """Part of all phases that is carried out, in [0, 1]; each counts the same."""
        return (self.number - 1 + self.done / self.total) / self.n_phases


def locate(phases: Sequence[PhaseSpec], phases_done: float) -> PhaseProgress | None:
    """Return where a run stands; None where the timesteps tell it.

    They do unless there are phases that take none of them, up to an end of their own.

    Args:
        phases: Of the run; none for one that has no phases.
        phases_done: How many are carried out, with the share of the running one; NaN if unknown.
    """
    only_online = all(phase.type == "online" for phase in phases)
    if only_online or phases[-1].duration is None or math.isnan(phases_done):
        return None
    index = min(int(phases_done), len(phases) - 1)
    phase = phases[index]
    assert phase.duration is not None, phase
    done = round((phases_done - index) * phase.duration)
    return PhaseProgress(phase.name, index + 1, len(phases), done, phase.duration, phase.unit)


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands at one moment."""

    epoch: int
    timesteps: int
    max_timesteps: int
    speed: float
    """What is done per second, of timesteps or what the phase counts; NaN while not known."""
    elapsed_seconds: float
    phase: PhaseProgress | None = None
    """None where the timesteps tell how far the run is."""
    updates: int = 0
    """Updates of the run, where an epoch that is running tells them."""

    @property
    def fraction(self) -> float:
        """Part of the run that is done, in [0, 1]: of its timesteps, or of its phases."""
        if self.phase is not None:
            return self.phase.fraction
        return min(1.0, self.timesteps / self.max_timesteps)

    @property
    def seconds_left(self) -> float:
        """Time to the end of the budget, or of the phase, at the present speed; NaN if unknown."""
        left = max(0, self.max_timesteps - self.timesteps)
        if self.phase is not None:
            left = self.phase.total - self.phase.done
        return left / self.speed if self.speed > 0 else math.nan

    def amount_text(self, *, of: str = "/") -> str:
        """Say how much is done: `400/600 steps`, or `phase 2/4 see 400/600 updates`."""
        if self.phase is None:
            return f"{self.timesteps:,}{of}{self.max_timesteps:,} steps"
        phase = self.phase
        return (
            f"phase {phase.number}{of}{phase.n_phases} {phase.name}  "
            f"{phase.done:,}{of}{phase.total:,} {_unit(phase)}"
        )

    def speed_text(self) -> str:
        """Say how fast it goes: `1,000 steps/s`; empty while it is not known."""
        if math.isnan(self.speed):
            return ""
        return (
            f"{format_speed(self.speed)} {'steps' if self.phase is None else _unit(self.phase)}/s"
        )

    def updates_text(self) -> str:
        """Say how many updates the running epoch tells; empty where a phase counts its own."""
        return counted(self.updates, "update") if self.updates and self.phase is None else ""

    def left_text(self) -> str:
        """Say how long it still takes: `left 0:08`, or `left in phase 0:08` before the last.

        Empty at the beginning of a phase, when its speed is not known.
        """
        if self.phase is not None and math.isnan(self.seconds_left):
            return ""
        is_part = self.phase is not None and self.phase.number < self.phase.n_phases
        return f"left {'in phase ' if is_part else ''}{format_duration(self.seconds_left)}"


def _unit(phase: PhaseProgress) -> str:
    return "steps" if phase.unit == "timesteps" else phase.unit


class ProgressMeter:
    """Measure the speed over the last moments at which somebody looked."""

    def __init__(
        self,
        *,
        max_timesteps: int,
        clock: Callable[[], float],
        phases: Sequence[PhaseSpec] = (),
    ) -> None:
        self._max_timesteps = max_timesteps
        self._phases = phases
        self._clock = clock
        self._started = clock()
        self._before = 0.0  # seconds in training before this meter was made
        self._looks: collections.deque[tuple[float, int]] = collections.deque(maxlen=_WINDOW)
        self._phase_number: int | None = None
        self._phases_done = math.nan

    def begin(self, timesteps: int, *, phases_done: float = math.nan) -> None:
        """Measure from now on; see `look`."""
        self._phases_done = phases_done
        if locate(self._phases, phases_done) is None:
            self._looks.append((self._clock(), timesteps))

    def look(
        self,
        *,
        epoch: int,
        timesteps: int,
        speed_hint: float = math.nan,
        elapsed_hint: float = math.nan,
        phases_done: float = math.nan,
        updates: int = 0,
    ) -> Progress:
        """Return the progress now.

        Args:
            epoch: Epochs completed.
            timesteps: Environment steps so far.
            speed_hint: Steps per second for the first look, when there is nothing to compare
                with; NaN if unknown.
            elapsed_hint: Seconds in training; NaN to count on from the last hint, or else from
                when this meter was made.
            phases_done: See `locate`; NaN for what it was at the last look.
            updates: Updates so far, if they are to be told.
        """
        now = self._clock()
        if not math.isnan(phases_done):
            self._phases_done = phases_done
        phase = locate(self._phases, self._phases_done)
        amount = timesteps if phase is None else phase.done
        number = None if phase is None else phase.number
        if number != self._phase_number:  # another thing is counted from here on
            self._looks.clear()
            self._phase_number = number
        while len(self._looks) > 1 and now - self._looks[1][0] > _RECENT_SECONDS:
            self._looks.popleft()  # speed is that of the last minute, or since the last step
        speed = speed_hint if phase is None or phase.unit == "timesteps" else math.nan
        if phase is not None and phase.number > 1 and phase.done == 0:
            speed = math.nan  # what was measured is the phase before
        if self._looks:
            then, before = self._looks[0]
            if now > then and amount > before:
                speed = (amount - before) / (now - then)
        if not self._looks or amount != self._looks[-1][1]:
            self._looks.append((now, amount))
        if not math.isnan(elapsed_hint):
            self._before = elapsed_hint - (now - self._started)
        elapsed = self.elapsed(now)
        return Progress(epoch, timesteps, self._max_timesteps, speed, elapsed, phase, updates)

    def elapsed(self, now: float) -> float:
        """Return the seconds in training so far."""
        return now - self._started + self._before
