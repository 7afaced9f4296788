"""Whether results have become worse since they were last stored, by a test over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from utils.reproduction.store import StoredEntry, StoredSuite
from utils.statistics import holm, welch_test
from utils.text_tables import counted, format_table

ALPHA = 0.05
LEAST_SHARE = 0.01
"""Of the old mean: a smaller fall is none, whatever a test says of it."""
SLOWER = 0.8
"""Share of the old speed below which it is told of."""
Verdict = Literal["regression", "improvement", "no difference", "equal", "cannot tell"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One config, then and now."""

    config_id: str
    metric: str
    old: float
    """Mean over the seeds."""
    new: float
    n_old: int
    n_new: int
    p_worse: float
    """Corrected for the number of configs; NaN where nobody can tell."""
    verdict: Verdict
    speed: float | None
    """New steps per second over old ones; None where the machines differ."""

    @property
    def is_slower(self) -> bool:
        """Whether it trains so much slower that a person should look."""
        return self.speed is not None and self.speed < SLOWER


def compare_suites(old: StoredSuite, new: StoredSuite) -> list[Comparison]:
    """Compare all configs that both have.

    A regression is a mean over seeds that is worse by at least `LEAST_SHARE` of the old one, and by
    Welch's test (one-sided, Holm's correction over the configs) more than chance explains at 5 %.
    """
    pairs = [
        (before, new.entries[config_id])
        for config_id, before in old.entries.items()
        if config_id in new.entries and new.entries[config_id].metric == before.metric
    ]
    worse = holm([_p(before, now, is_fall=True) for before, now in pairs])
    better = holm([_p(before, now, is_fall=False) for before, now in pairs])
    return [
        Comparison(
            config_id=before.config_id,
            metric=before.metric or "return",
            old=statistics.fmean(before.values),
            new=statistics.fmean(now.values),
            n_old=len(before.seeds),
            n_new=len(now.seeds),
            p_worse=p_worse,
            verdict=_verdict(before, now, p_worse, p_better),
            speed=_speed(old, before, new, now),
        )
        for (before, now), p_worse, p_better in zip(pairs, worse, better, strict=True)
    ]


def _goodness(entry: StoredEntry) -> list[float]:
    """Return values of which more is better."""
    return entry.values if entry.metric is None else [-value for value in entry.values]


def _p(before: StoredEntry, now: StoredEntry, *, is_fall: bool) -> float:
    first, second = _goodness(before), _goodness(now)
    if not is_fall:
        first, second = second, first
    return welch_test(first, second).p_lower


def _verdict(before: StoredEntry, now: StoredEntry, p_worse: float, p_better: float) -> Verdict:
    then = {seed.seed: seed.value for seed in before.seeds}
    today = {seed.seed: seed.value for seed in now.seeds}
    if then == today:
        return "equal"
    first, second = statistics.fmean(_goodness(before)), statistics.fmean(_goodness(now))
    change = (second - first) / max(abs(first), 1e-9)
    if abs(change) < LEAST_SHARE:
        return "no difference"
    if math.isnan(p_worse):
        return "cannot tell"
    if change < 0 and p_worse < ALPHA:
        return "regression"
    return "improvement" if change > 0 and p_better < ALPHA else "no difference"


def _speed(
    old: StoredSuite, before: StoredEntry, new: StoredSuite, now: StoredEntry
) -> float | None:
    """Return the ratio of the median speeds, where all was measured on one kind of machine."""
    machines = [_hardware(old.machines[seed.machine]) for seed in before.seeds]
    machines += [_hardware(new.machines[seed.machine]) for seed in now.seeds]
    if any(machine != machines[0] for machine in machines):
        return None
    then, today = (
        statistics.median(seed.steps_per_second for seed in entry.seeds) for entry in (before, now)
    )
    return today / then if then > 0 else None


def _hardware(machine: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(machine.get(key) for key in ("processor", "usable_cores", "device"))


def describe_comparison(old: StoredSuite, new: StoredSuite, found: list[Comparison]) -> str:
    """Return what a person reads of a comparison: a table, and lines that name what is worse."""
    rows = [
        (
            item.config_id,
            item.metric,
            f"{item.old:.2f} ({item.n_old})",
            f"{item.new:.2f} ({item.n_new})",
            "-" if math.isnan(item.p_worse) else _describe_p(item.p_worse),
            item.verdict,
            "-" if item.speed is None else f"{item.speed:.2f}x",
        )
        for item in found
    ]
    head = ("config", "measure", "then (seeds)", "now (seeds)", "p worse", "verdict", "speed")
    lines = [f"compared with {old.path} of {old.written_at}", "", format_table(head, rows), ""]
    gone = [config_id for config_id in old.entries if config_id not in new.entries]
    if gone:
        lines.append(f"not there now: {', '.join(gone)}")
    for item in found:
        if item.verdict == "regression":
            lines.append(
                f"REGRESSION {item.config_id}: {item.metric} {item.new:.2f}, was {item.old:.2f} "
                f"(p {_equals(item.p_worse)} after correction)"
            )
        elif item.verdict == "cannot tell":
            lines.append(
                f"cannot tell of {item.config_id}: it takes two seeds and a spread on both sides"
            )
        if item.is_slower:
            lines.append(
                f"slower: {item.config_id} makes {item.speed:.2f} times the steps per second "
                "(look whether the machine was busy)"
            )
    if not any(item.verdict == "regression" for item in found):
        lines.append(f"no regression among {counted(len(found), 'config')}")
    return "\n".join(lines)


def _describe_p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _equals(p: float) -> str:
    text = _describe_p(p)
    return text if text.startswith("<") else f"= {text}"
