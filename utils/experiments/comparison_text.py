"""A comparison as people read it in a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

from utils.experiments.curves import Band
from utils.experiments.differences import ABSENT, Difference
from utils.experiments.methods import Comparison
from utils.experiments.statistics import FEW_RUNS, Improvement, MethodScores
from utils.statistics import Interval
from utils.text_tables import counted, format_table

_SHARES = (0.25, 0.5, 0.75, 1.0)
_LONGEST_VALUE = 48
_WIDTH = 110


def describe_comparison(
    comparison: Comparison,
    scores: Sequence[MethodScores],
    pairs: Sequence[Improvement],
    bands: Mapping[str, Band],
    differences: Sequence[Difference],
    *,
    curve: str,
) -> str:
    """Return the whole comparison.

    Args:
        comparison: What is compared.
        scores: Aggregates of each method.
        pairs: Probabilities of improvement.
        bands: Learning curve of each method.
        differences: Settings that are not the same.
        curve: What the learning curves show, in words.
    """
    parts = [_head(comparison), _scores_table(comparison, scores)]
    if len(comparison.tasks) > 1:
        parts.append(_tasks_table(comparison))
    if pairs:
        rows = [(f"{p.method} > {p.other}", format_interval(p.probability)) for p in pairs]
        parts.append(format_table(("probability of improvement", "value [95 %]"), rows))
    if bands:
        parts.append(_bands_table(bands, curve))
    parts.append(_differences_table(comparison, differences))
    parts += _notes(comparison, scores)
    return "\n\n".join(parts)


def format_interval(interval: Interval, *, digits: int = 2) -> str:
    """Write `12.30 [11.90, 12.80]`; without an interval the value alone."""
    value = f"{interval.value:,.{digits}f}"
    if math.isnan(interval.low):
        return value
    return f"{value} [{interval.low:,.{digits}f}, {interval.high:,.{digits}f}]"


def format_mean(mean: Interval) -> str:
    """Write `12.30 ± 0.40`, or `12.30 [11.90, 12.80]` where it reaches further to one side."""
    up, down = mean.high - mean.value, mean.value - mean.low
    if math.isnan(up) or not math.isclose(up, down, rel_tol=1e-9, abs_tol=1e-12):
        return format_interval(mean)
    return f"{mean.value:,.2f} ± {up:,.2f}"


def scores_header(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the columns of `scores_row`."""
    gap = () if comparison.target is None else (f"gap to {comparison.target:g} [95 %]",)
    mean = "mean [95 %]" if comparison.scales else "mean ± 95 %"
    return (comparison.by, "runs", mean, "IQM [95 %]", "median", *gap, "lowest", "highest")


def scores_row(scores: MethodScores) -> tuple[str, ...]:
    """Return the aggregates of a method as text."""
    gap = () if scores.gap is None else (format_interval(scores.gap),)
    return (
        scores.name,
        str(scores.n_runs),
        format_mean(scores.mean),
        format_interval(scores.iqm),
        f"{scores.median:,.2f}",
        *gap,
        f"{scores.lowest:,.2f}",
        f"{scores.highest:,.2f}",
    )


def _head(comparison: Comparison) -> str:
    n = sum(method.n_runs for method in comparison.methods)
    runs = counted(n, "run")
    lines = [f"{comparison.metric} of {runs} by {comparison.by} on {', '.join(comparison.tasks)}"]
    lines += [f"  {task}: {scale.reason}" for task, scale in comparison.scales.items()]
    return "\n".join(lines)


def _scores_table(comparison: Comparison, scores: Sequence[MethodScores]) -> str:
    return format_table(scores_header(comparison), [scores_row(item) for item in scores])


def _tasks_table(comparison: Comparison) -> str:
    rows = [
        (task, *(f"{method.scores[task].mean():,.2f}" for method in comparison.methods))
        for task in comparison.tasks
    ]
    names = [method.name for method in comparison.methods]
    return format_table((f"mean {comparison.metric}", *names), rows)


def _bands_table(bands: Mapping[str, Band], curve: str) -> str:
    """Show the learning curves at quarters of each method's training."""
    rows = [
        (name, *(format_interval(band.at(share)) for share in _SHARES))
        for name, band in bands.items()
    ]
    header = (f"{curve}, IQM [95 %] after", *(f"{share:.0%}" for share in _SHARES))
    return format_table(header, rows)


def _differences_table(comparison: Comparison, differences: Sequence[Difference]) -> str:
    if not differences:
        return "settings: the same but for seeds"
    names = [method.name for method in comparison.methods]
    shared = [item for item in differences if ABSENT not in item.values]
    rows = [(item.key, *map(_shorten, item.values)) for item in shared]
    parts = [format_table(("settings that differ", *names), rows)] if rows else []
    for index, name in enumerate(names):
        own = [d.key for d in differences if ABSENT in d.values and d.values[index] != ABSENT]
        if own:
            text = f"settings of {name} that others lack: {', '.join(own)}"
            parts.append(textwrap.fill(text, _WIDTH, subsequent_indent="  "))
    return "\n\n".join(parts)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _notes(comparison: Comparison, scores: Sequence[MethodScores]) -> list[str]:
    notes = []
    few = [item.name for item in scores if item.n_runs < FEW_RUNS]
    if few:
        notes.append(
            f"note: fewer than {FEW_RUNS} runs of {', '.join(few)}: bootstrap intervals are too "
            "narrow there (of 3 runs they hold the truth 75 times in 100, of 5 runs 94 times)"
        )
    repeats = [f"{n} of {m.name}" for m in comparison.methods if (n := m.n_repeats)]
    if repeats:
        notes.append(
            f"note: runs with the settings and the seed of another: {', '.join(repeats)}. They are "
            "no new samples, and the intervals take them for some: select by group, or train other "
            "seeds"
        )
    if comparison.n_without_score:
        notes.append(
            f"note: {comparison.n_without_score} selected runs have no '{comparison.metric}' and "
            "are left out"
        )
    return notes
