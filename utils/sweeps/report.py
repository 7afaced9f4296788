"""What a sweep has found: a table of its trials, what matters, and a page with a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utils.loggers.number_text import format_duration
from utils.reports.sections import markdown_table
from utils.storage import write_bytes
from utils.sweeps.local import format_setting
from utils.sweeps.parameters import Choice
from utils.sweeps.spec import SweepSpec
from utils.sweeps.study import ERROR, SECONDS, SETTINGS, Counts, SweepStudy, state_of
from utils.text_tables import format_table

PAGE_NAME = "report.md"
_PICTURE_NAME = "sweep.png"
_WIDE = 20.0
"""Ratio of the ends of a range from which on its axis is logarithmic."""
_DONE = ("complete", "pruned", "failed")


def trial_rows(study: SweepStudy) -> tuple[list[str], list[list[str]]]:
    """Return the header and a row per trial, the best first, then pruned ones, then failures."""
    names = study.spec.varying
    sign = -1.0 if study.spec.metric.is_better_larger else 1.0
    found = [trial for trial in study.trials if state_of(trial) in _DONE]
    found.sort(key=lambda t: (_DONE.index(state_of(t)), sign * (t.value or 0.0), t.number))
    rows = []
    for trial in found:
        settings = trial.user_attrs.get(SETTINGS, {})
        value = "" if trial.value is None else f"{trial.value:.2f}"
        cells = [format_setting(settings.get(name, "")) for name in names]
        seconds = format_duration(trial.user_attrs.get(SECONDS, 0.0))
        rows.append([str(trial.number), state_of(trial), value, *cells, seconds])
    return ["trial", "state", study.spec.metric.name, *names, "time"], rows


def describe_counts(counts: Counts) -> str:
    """Write how many trials came to what: `12 complete, 5 pruned, 1 failed`."""
    others = {name: getattr(counts, name) for name in ("pruned", "failed", "running", "waiting")}
    parts = [f"{counts.complete} complete"]
    parts += [f"{number} {name}" for name, number in others.items() if number]
    if counts.lost:
        parts.append(f"{counts.lost} interrupted and done again")
    return ", ".join(parts)


def failures(study: SweepStudy) -> list[str]:
    """Return a line per way in which trials failed by themselves, with their numbers."""
    by_error: dict[str, list[int]] = {}
    for trial in study.trials:
        if state_of(trial) == "failed":
            by_error.setdefault(trial.user_attrs[ERROR], []).append(trial.number)
    return [
        f"trial{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}: {error}"
        for error, numbers in by_error.items()
    ]


def describe_sweep(study: SweepStudy, *, limit: int = 20) -> str:
    """Return what a person reads at the end of a sweep."""
    header, rows = trial_rows(study)
    lines = [format_table(header, rows[:limit])]
    if len(rows) > limit:
        lines.append(f"... and {len(rows) - limit} more")
    lines.append(describe_counts(study.counts()))
    lines += [f"failed: {line}" for line in failures(study)]
    weights = study.importances()
    if weights:
        shown = ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())
        lines.append(f"what matters most: {shown}")
    return "\n".join(lines)


def write_page(study: SweepStudy, folder: Path, *, best_id: str | None) -> Path:
    """Write `report.md` and its picture into the folder of the sweep.

    Args:
        study: The study.
        folder: Folder of the sweep.
        best_id: Config id of the best trial, for train.py; None where no trial is complete.

    Returns:
        The page.

    Raises:
        StorageError: A file cannot be written.
    """
    spec = study.spec
    header, rows = trial_rows(study)
    parts = [
        f"# {spec.title} of {spec.config_id}",
        f"{spec.method}, {spec.metric.goal} `{spec.metric.name}`: "
        f"{describe_counts(study.counts())}.",
        _best_part(study, best_id),
    ]
    figure = draw_sweep(study)
    if figure is not None:
        content = io.BytesIO()
        figure.savefig(content, dpi=110)
        write_bytes(folder / _PICTURE_NAME, content.getvalue(), sync=False)
        parts.append(
            f"![Value of each trial, and by each parameter; what matters]({_PICTURE_NAME})"
        )
    parts += [_importance_part(study), "## Trials", markdown_table(header, rows)]
    if lines := failures(study):
        parts += ["## Failures", "\n".join(f"- {line}" for line in lines)]
    write_bytes(folder / PAGE_NAME, ("\n\n".join(parts) + "\n").encode(), sync=False)
    return folder / PAGE_NAME


def _best_part(study: SweepStudy, best_id: str | None) -> str:
    best = study.best
    if best is None or best_id is None:
        return "No trial is complete yet."
    return (
        f"Best: trial {best.number} with {best.value:.4g}. Train it with\n\n"
        f"    python train.py {best_id}\n\n"
        "It was chosen as the best of several, so its value flatters it: judge it with fresh seeds."
    )


def _importance_part(study: SweepStudy) -> str:
    weights = study.importances()
    if not weights:
        return "Too few trials have ended to say which parameter matters (10 are needed)."
    rows = [(f"`{name}`", f"{weight:.0%}") for name, weight in weights.items()]
    return "\n\n".join(
        [
            "## What matters",
            "Share of each parameter in what parts the best quarter of the trials from the rest "
            "(PED-ANOVA); trials that were stopped count with their last value.",
            markdown_table(("parameter", "importance"), rows),
        ]
    )


def draw_sweep(study: SweepStudy) -> Any:
    """Draw the values by trial and by each parameter; None without two values."""
    done = [
        t for t in study.trials if state_of(t) in ("complete", "pruned") and t.value is not None
    ]
    if len(done) < 2:
        return None
    from matplotlib.figure import Figure

    names = study.spec.varying
    weights = study.importances()
    n_axes = 1 + len(names) + (weights is not None)
    n_columns = min(3, n_axes)
    n_rows = -(-n_axes // n_columns)
    figure = Figure(figsize=(4.2 * n_columns, 3.2 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    _draw_history(axes[0], study, done)
    for axis, name in zip(axes[1:], names, strict=False):
        _draw_slice(axis, name, done, study.spec)
    if weights is not None:
        _draw_importances(axes[1 + len(names)], weights)
    for axis in axes[n_axes:]:
        axis.set_axis_off()
    return figure


def _draw_importances(axis: Any, weights: dict[str, float]) -> None:
    """Draw a bar for each parameter, the one that matters most on top."""
    names = list(weights)[::-1]
    axis.barh(names, [weights[name] for name in names], color="tab:green")
    axis.set(title="what matters", xlabel="share of what parts the best quarter from the rest")
    axis.xaxis.label.set_fontsize(8)
    axis.tick_params(axis="y", labelsize=8)
    axis.grid(axis="x", alpha=0.25)


def _draw_history(axis: Any, study: SweepStudy, done: Sequence[Any]) -> None:
    better = max if study.spec.metric.is_better_larger else min
    complete = [t for t in done if state_of(t) == "complete"]
    bests: list[float] = []
    for trial in complete:
        bests.append(better([*bests[-1:], trial.value]))
    numbers = [t.number for t in complete] + [t.number for t in done[-1:]]
    _scatter(axis, [t.number for t in done], done)
    bests += bests[-1:]
    axis.step(numbers[: len(bests)], bests, where="post", color="tab:orange", label="best")
    axis.set(xlabel="trial", ylabel=study.spec.metric.name, title="trials")
    _mark_whole_numbers(axis)
    axis.legend(fontsize=8)


def _draw_slice(axis: Any, name: str, done: Sequence[Any], spec: SweepSpec) -> None:
    settings = [trial.user_attrs.get(SETTINGS, {}).get(name) for trial in done]
    parameter, probes = spec.parameters[name], spec.parameters[name].probe()
    if isinstance(parameter, Choice):
        labels = [format_setting(value) for value in probes]
        _scatter(axis, [labels.index(format_setting(value)) for value in settings], done)
        axis.set_xticks(range(len(labels)), labels, fontsize=8)
        axis.set_xlim(-0.5, len(labels) - 0.5)
    else:
        _scatter(axis, settings, done)
        low, high = min(probes), max(probes)
        if low > 0 and high / low >= _WIDE:
            axis.set_xscale("log")
            axis.xaxis.minorticks_off()
            axis.set_xlim(low / 1.2, high * 1.2)
        elif all(isinstance(value, int) for value in settings):
            _mark_whole_numbers(axis)
    axis.set(title=name)


def _mark_whole_numbers(axis: Any) -> None:
    """Let no tick of the horizontal axis stand between two whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def _scatter(axis: Any, places: Sequence[Any], done: Sequence[Any]) -> None:
    for state, style in {
        "complete": {"color": "tab:blue"},
        "pruned": {"color": "tab:gray", "marker": "x"},
    }.items():
        points = [(x, t.value) for x, t in zip(places, done, strict=True) if state_of(t) == state]
        if points:
            axis.scatter(*zip(*points, strict=True), s=22, label=state, **style)
    axis.grid(alpha=0.25)
