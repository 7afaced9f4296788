"""What a person sees of a group while it trains: a line for each seed, or what happens."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence

from utils.config import Config
from utils.loggers.number_text import format_duration, format_value
from utils.loggers.progress import Progress
from utils.loggers.terminal import LiveBlock, Palette, is_ascii_only, is_terminal
from utils.monitoring.health import RETURN_KEYS
from utils.run import RunGroup
from utils.seed_groups.members import Member, RunFinder, State
from utils.seed_groups.report import count_seeds

_REFRESH_SECONDS = 0.5
_BAR = 20
_STYLES = {
    State.COMPLETED: "green",
    State.FAILED: "bold_red",
    State.INTERRUPTED: "yellow",
    State.WAITING: "dim",
}


class GroupView:
    """Shows a group on stderr: redrawn in place on a terminal, line by line elsewhere."""

    def __init__(
        self, group: RunGroup, members: Sequence[Member], config: Config, *, is_quiet: bool
    ) -> None:
        """Take what is to be shown; quiet shows nothing."""
        self._group = group
        self._members = list(members)
        self._config = config
        self._is_quiet = is_quiet
        self._stream = sys.stderr
        self._is_live = not is_quiet and is_terminal(self._stream)
        self._is_ascii = is_ascii_only(self._stream)
        self._palette = Palette(is_on=self._is_live)
        self._block = LiveBlock(self._stream)
        self._finder = RunFinder(group)
        self._told = {member.seed: member.state for member in members}
        self._notices: set[str] = set()
        self._drawn = -math.inf

    def begin(self, *, n_jobs: int) -> None:
        """Say what is about to be trained."""
        n_done = sum(member.state is State.COMPLETED for member in self._members)
        n = len(self._members)
        done = f", {n_done} complete already" if n_done else ""
        side_by_side = f", {n_jobs} at a time" if n_done < n else ""
        self._say(
            f"{self._config.config_id}: {count_seeds(n)}{done}{side_by_side}, "
            f"group {self._group.id}"
        )

    def look(self) -> None:
        """Look at all seeds, and show what has changed."""
        self._finder.look(self._members)
        for member in self._members:
            member.look()
        if self._is_live:
            self._redraw()
        else:
            self._tell_changes()

    def tell_stop(self) -> None:
        """Say that the seeds are stopping."""
        self._block.begin_anew()
        print(
            "\nstopping: every seed ends its epoch and saves; once more stops at once",
            file=self._stream,
            flush=True,
        )

    def end(self) -> None:
        """Show how all seeds stand in the end."""
        self._drawn = -math.inf
        self.look()

    def _redraw(self) -> None:
        now = time.monotonic()
        if now - self._drawn < _REFRESH_SECONDS:
            return
        self._drawn = now
        for member in self._members:
            if member.state is not State.WAITING:
                member.refresh_view()
        columns, rows = self._block.size()
        lines = [self._line(member, columns) for member in self._order()]
        n = max(1, rows - 2)
        if len(lines) > n:
            lines = [*lines[: n - 1], f"... and {len(lines) - n + 1} more seeds"]
        self._block.draw(lines)

    def _order(self) -> list[Member]:
        """Return the seeds, those that train first where not all may fit."""
        if len(self._members) <= self._block.size()[1] - 2:
            return self._members
        return sorted(self._members, key=lambda member: member.state is not State.TRAINING)

    def _line(self, member: Member, columns: int) -> str:
        head = f"seed {member.seed:<5} {member.state.value:11}"
        text = f"{head} {self._describe(member)}"[: columns - 1]
        return self._palette.paint(text, _STYLES.get(member.state))

    def _describe(self, member: Member) -> str:
        view = member.view
        if member.failure:
            return member.failure
        if view is None or member.state in (State.WAITING, State.STARTING):
            return member.notice
        progress = view.progress()
        full, empty = ("#", ".") if self._is_ascii else ("━", "─")
        filled = round(_BAR * progress.fraction)
        parts = [f"{full * filled}{empty * (_BAR - filled)} {progress.fraction:4.0%}"]
        is_timed = member.state is State.TRAINING and math.isfinite(progress.speed)
        if progress.phase is not None:
            parts.append(progress.amount_text())
            parts += [progress.speed_text(), progress.left_text()] if is_timed else []
        else:
            parts.append(f"{progress.timesteps:>11,} steps")
            parts += _timing(progress) if is_timed else []
        key = next((key for key in RETURN_KEYS if key in view.series), None)
        if key is not None:
            what = "evaluation" if key.startswith("val/") else "training"
            parts.append(f"{what} {format_value(view.series[key].latest, precision=2)}")
        mean = member.test_mean("best") if member.state is State.COMPLETED else None
        if mean is not None:
            parts.append(f"test {format_value(mean, precision=2)}")
        return "  ".join(parts)

    def _tell_changes(self) -> None:
        for member in self._members:
            before, now = self._told[member.seed], member.state
            if member.notice and member.notice not in self._notices:
                self._notices.add(member.notice)
                self._say(f"seed {member.seed}: {member.notice}")
            if now is before or now is State.WAITING:
                continue
            self._told[member.seed] = now
            if now is State.TRAINING:
                self._say(f"seed {member.seed}: training in {member.run_name}")
            if now in (State.STARTING, State.TRAINING):
                continue
            mean = member.test_mean("best")
            more = f", test {format_value(mean, precision=2)}" if mean is not None else ""
            more = f": {member.failure}" if member.failure else more
            self._say(f"seed {member.seed}: {now.value}{more}")

    def _say(self, text: str) -> None:
        if not self._is_quiet:
            print(text, file=self._stream, flush=True)


def _timing(progress: Progress) -> list[str]:
    left = format_duration(progress.seconds_left)
    return [f"{progress.speed:>8,.0f}/s", f"{left:>7} left"]
