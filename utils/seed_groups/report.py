"""What the seeds of a group come to: on the screen and as a report with curves."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from utils.config import Config
from utils.experiments.comparison_text import format_interval, format_mean
from utils.experiments.curves import (
    build_band,
    choose_common_axis,
    choose_curve_key,
    read_run_curve,
)
from utils.experiments.statistics import FEW_RUNS, MethodScores, summarize_values
from utils.loggers.number_text import format_duration
from utils.reports.sections import flatten_settings, format_setting, markdown_table
from utils.run import RunGroup
from utils.seed_groups.members import Member, State
from utils.storage import write_bytes
from utils.text_tables import counted, format_table

_HEADER = ("seed", "status", "best policy", "last policy", "timesteps", "run")
_CURVES = "curves.png"


def tell_result(
    group: RunGroup, members: Sequence[Member], config: Config, *, seconds: float
) -> None:
    """Print the seeds and what they come to, and write the group's report."""
    rows = [_row(member) for member in members]
    lines = [format_table(_HEADER, rows), "", *_aggregate_lines(members, config)]
    lines.append(f"report  {write_group_report(group, members, config, seconds=seconds)}")
    print("\n".join(lines), flush=True)


def write_group_report(
    group: RunGroup, members: Sequence[Member], config: Config, *, seconds: float
) -> str:
    """Write `report.md` and, where there are curves, `curves.png`; return the report's path.

    Raises:
        StorageError: A file cannot be written.
    """
    has_curves = _write_curves(group, members, config)
    where = runs_dir_option(group)
    chosen = [
        (f"`{key}`", format_setting(value))
        for key, value, default in flatten_settings(config)
        if key != "seed" and (default is None or default[0] != value)
    ]
    n_done = sum(member.state is State.COMPLETED for member in members)
    parts = [
        f"# {config.config_id}, {count_seeds(len(members))}",
        f"{config.spec.summary or config.env_id}. {n_done} of {len(members)} seeds are complete; "
        f"the last work on them took {format_duration(seconds)}. Group `{group.id}`.",
        "## Result",
        "\n".join(f"- {line.strip()}" for line in _aggregate_lines(members, config)),
        markdown_table(_HEADER, [_linked(member) for member in members]),
        "A policy's value is its mean return over the test episodes, which neither training nor "
        "evaluation has seen. *Best policy*: the one that evaluated best while training.",
        "## Curves",
        (
            f"![Interquartile mean of the seeds and its 95 % interval]({_CURVES})\n\n"
            "Interquartile mean of the seeds with its 95 % interval (bootstrap). A seed that "
            "reached its goal earlier counts with its last value from there on."
            if has_curves
            else "No seed has a curve yet."
        ),
        "## Settings",
        "Chosen for these runs; all others have their defaults:",
        markdown_table(("setting", "value"), chosen),
        "## Next",
        "```\n"
        f"python scripts/experiments.py show {group.id}{where}\n"
        f"python scripts/experiments.py compare group={group.id} group=<another>{where}\n"
        f"python train.py --resume {group.id} --seeds {2 * len(members)}x{where}   # more seeds\n"
        "```",
    ]
    write_bytes(group.report_path, ("\n\n".join(parts) + "\n").encode(), sync=False)
    return str(group.report_path)


def aggregate_text(scores: MethodScores) -> str:
    """Say what several runs came to: mean, interquartile mean, lowest and highest."""
    if scores.n_runs == 1:
        return f"mean {format_mean(scores.mean)}"
    return (
        f"mean {format_mean(scores.mean)} (95 %, Student's t), "
        f"IQM {format_interval(scores.iqm)} (95 %, bootstrap), "
        f"lowest {scores.lowest:,.2f}, highest {scores.highest:,.2f}"
    )


def runs_dir_option(group: RunGroup) -> str:
    """Return what a command needs to find a group; empty where it looks by itself."""
    folder = str(group.runs_dir)
    return "" if folder == "runs" else f" --runs-dir {shlex.quote(folder)}"


def count_seeds(n: int) -> str:
    """Return a number of seeds in words."""
    return counted(n, "seed")


def _aggregate_lines(members: Sequence[Member], config: Config) -> list[str]:
    lines = []
    for name in ("best", "last"):
        means = [member.test_mean(name) for member in members if member.state is State.COMPLETED]
        values = np.array([mean for mean in means if mean is not None])
        if len(values):
            scores = summarize_values(name, values, target=None)
            lines.append(f"{name}    {count_seeds(len(values))}: {aggregate_text(scores)}")
    if not lines:
        n_done = sum(member.state is State.COMPLETED for member in members)
        why = "the config asks for no test" if n_done else "no seed is complete"
        return [f"result  none: {why}"]
    n = sum(member.state is State.COMPLETED for member in members)
    if 1 < n < FEW_RUNS:
        lines.append(f"note    of {n} seeds a bootstrap interval is too narrow; trust the mean's")
    solved = config.spec.solved_threshold
    if solved is not None:
        bests = [m.test_mean("best") for m in members]
        n_solved = sum(mean is not None and mean >= solved for mean in bests)
        lines.append(f"solved  {n_solved} of {len(members)} seeds reach {solved:g}")
    return lines


def _row(member: Member) -> tuple[str, ...]:
    values = []
    for name in ("best", "last"):
        mean = member.test_mean(name)
        values.append("-" if mean is None else f"{mean:,.2f}")
    timesteps = None if member.run is None else member.run.saved_timesteps()
    steps = "-" if timesteps is None else f"{timesteps:,}"
    return str(member.seed), member.state.value, *values, steps, member.run_name


def _linked(member: Member) -> tuple[str, ...]:
    *cells, run = _row(member)
    if member.run is not None and member.run.report_path.exists():
        run = f"[{run}](../../{run}/report.md)"
    return *cells, run


def _write_curves(group: RunGroup, members: Sequence[Member], config: Config) -> bool:
    runs = [member.run for member in members if member.run is not None]
    key = choose_curve_key(runs)
    axis = choose_common_axis(runs)
    curves = [read_run_curve(run, key, over=axis.key) for run in runs]
    band = build_band([[curve for curve in curves if curve is not None]])
    if band is None:
        return False
    from utils.experiments.figures import curves_figure, draw

    what = "evaluation" if key.startswith("val/") else "training"
    panels = {config.env_id: {config.config_id: band}}
    files = draw(
        lambda: curves_figure(panels, label=f"return in {what}", x=axis.name), formats=["png"]
    )
    write_bytes(group.path / _CURVES, files["png"], sync=False)
    return True
