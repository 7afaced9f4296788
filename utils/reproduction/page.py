"""The results page as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utils.config import load_config
from utils.environment import solved_threshold
from utils.environment.families.standard import find_spec
from utils.reports.sections import markdown_table
from utils.reproduction.entries import SOURCES, Entry
from utils.reproduction.summary import Summary

_HEADER = (
    "config",
    "seeds",
    "best policy",
    "last policy",
    "lowest seed",
    "solved at",
    "goal",
    "reached",
    "published",
    "timesteps",
    "wall time",
)
_PACKAGES = ("torch", "lightning", "gymnasium", "numpy")


def write_page(
    rows: Sequence[tuple[Entry, Summary]],
    facts: Sequence[Mapping[str, Any]],
    *,
    first_seed: int,
    overrides: Sequence[str] = (),
) -> str:
    """Return the page.

    Args:
        rows: The configs that have results.
        facts: What was recorded of the machine for each training (`environment.json`).
        first_seed: Seeds are counted from here.
        overrides: Settings that were changed for this page, `key=value`; a trial says so.
    """
    table = markdown_table(_HEADER, [_row(entry, summary) for entry, summary in rows])
    used = [name for name in SOURCES if any(name in map(_source, e.published) for e, _ in rows)]
    return "\n".join(
        [
            "# Results",
            "",
            "Trained policies on fresh episodes. This page is written by",
            "`python scripts/reproduce_results.py --write`, which trains everything on it.",
            "",
            *_trial_warning(overrides),
            table,
            "",
            *_explanation(rows, first_seed),
            *_sources(used),
            "",
            "## Machine",
            "",
            *_machine_lines(facts),
            "",
        ]
    )


def _row(entry: Entry, summary: Summary) -> tuple[str, ...]:
    config = load_config(entry.config_id)
    threshold = solved_threshold(config, find_spec(config.env_id))
    goal, n_seeds = entry.goal, len(summary.seeds)
    return (
        entry.config_id,
        str(n_seeds),
        str(summary.best),
        str(summary.last),
        f"{min(summary.best_means):.2f}",
        "-" if threshold is None else f"{threshold:g}",
        "-" if goal is None else f"{goal:g}",
        "-" if goal is None else f"{summary.n_reached(goal)}/{n_seeds}",
        ", ".join(map(str, entry.published)) or "-",
        f"{summary.mean_timesteps:,.0f}",
        f"{summary.mean_seconds:,.0f} s",
    )


def _explanation(rows: Sequence[tuple[Entry, Summary]], first_seed: int) -> list[str]:
    counts = sorted({summary.n_episodes for _, summary in rows})
    lines = [
        f"Each seed's value is the mean raw return of {' or '.join(map(str, counts))} greedy "
        "episodes that neither",
        "training nor evaluation has seen. Shown is the mean over the seeds with its 95 % interval",
        "by Student's t, where the seeds are the sample.",
        f"Seeds are counted from {first_seed}; settings were chosen by trainings with smaller ones",
        "than 101.",
        "",
        "*Best policy*: the one that evaluated best while training; *last policy*: the one at the",
        "end; *lowest seed*: the worst best policy; *solved at*: the threshold of the environment;",
        "*goal*: what this project asks of the best policy, and *reached*: by how many seeds;",
        "*timesteps* and *wall time*: mean of one training, test included; a training may stop at",
        "its threshold, before its budget.",
    ]
    remarks = [f"- {entry.config_id}: {entry.remark}" for entry, _ in rows if entry.remark]
    lines += ["", *remarks] if remarks else []
    unfinished = {e.config_id: s.n_unfinished for e, s in rows if s.n_unfinished}
    if unfinished:
        counted = ", ".join(f"{name} {n}" for name, n in unfinished.items())
        lines += ["", f"**Test episodes that did not end in time and are in no mean:** {counted}."]
    return lines


def _trial_warning(overrides: Sequence[str]) -> list[str]:
    settings = ", ".join(f"`{override}`" for override in overrides)
    return [f"**A trial with changed settings: {settings}.**", ""] if overrides else []


def _sources(used: Sequence[str]) -> list[str]:
    return ["", *(f"- *{name}*: {SOURCES[name]}" for name in used)] if used else []


def _source(published: Any) -> str:
    return str(published.source)


def _machine_lines(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say on what was trained; one line for each kind of machine and set of versions."""
    lines = []
    for fact in facts:
        versions = ", ".join(
            f"{name} {fact['packages'][name]}" for name in _PACKAGES if name in fact["packages"]
        )
        lines.append(
            f"- {fact['processor']}, {fact['usable_cores']} cores, {fact['torch_threads']} torch "
            f"thread(s); Python {fact['python']}, {versions}"
        )
    return list(dict.fromkeys(lines))
