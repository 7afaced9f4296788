"""The results page as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from utils.reports.sections import markdown_table
from utils.reproduction.entries import ENTRIES, SOURCES
from utils.reproduction.rows import HEADER, Row, number_machines

_EXPLANATION = """\
Each seed's value is the mean of *measure* over *episodes* greedy episodes that neither training
nor evaluation has seen; the return is raw. Shown is the mean over the seeds with its 95 % interval
by Student's t, where the seeds are the sample. Settings were chosen by trainings with seeds
smaller than 101, but where a remark below says otherwise.

*Best policy*: the one that evaluated best while training; *last policy*: the one at the end;
*worst seed*: the worst best policy; *solved at*: the threshold of the environment; *goal*: what
this project asks of the best policy, and *reached*: by how many seeds; a return has to be as high,
a regret or an error lower; a goal that is marked *last* is a point of a curve, and the last policy
is asked (of these the worst seed is told, too); *others*: what was published, or what an algorithm
without learning does; *timesteps* and *wall time*: mean of one training, test included, on one core
of a machine that did other work too; a training may stop at its threshold, before its budget."""


def write_page(rows: Sequence[Row], *, overrides: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        rows: The configs that have results.
        overrides: Settings that were changed for this page, `key=value`; a trial says so.
    """
    cells, machines = number_machines(rows)
    shown = [entry for entry in ENTRIES if entry.config_id in {row.config_id for row in rows}]
    remarks = [f"- {entry.config_id}: {entry.remark}" for entry in shown if entry.remark]
    used = {other.source for entry in shown for other in entry.others}
    sources = [f"- *{name}*: {text}" for name, text in SOURCES.items() if name in used]
    lines = [
        "# Results",
        "",
        "Trained policies on fresh episodes. This page is written by",
        "`python scripts/reproduce_results.py --write`, which trains everything on it.",
        "",
        *_trial_warning(overrides),
        markdown_table(HEADER, cells),
        "",
        _EXPLANATION,
        *(["", *remarks] if remarks else []),
        *(["", *sources] if sources else []),
        "",
        *machines,
        "",
    ]
    return "\n".join(lines)


def _trial_warning(overrides: Sequence[str]) -> list[str]:
    settings = ", ".join(f"`{override}`" for override in overrides)
    return [f"**A trial with changed settings: {settings}.**", ""] if overrides else []
