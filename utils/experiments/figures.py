"""Figures for papers: learning curves, aggregates, performance profiles."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from utils.experiments.curves import Band, has_interval
from utils.experiments.methods import Comparison
from utils.experiments.statistics import Improvement, MethodScores
from utils.metrics.axis import TIMESTEPS
from utils.statistics import Interval, performance_profile
from utils.text_tables import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that people who are colour-blind tell apart (Okabe and Ito 2008), told apart in grey by
# the dashes too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#000000")
_DASHES = ("-", "--", "-.", ":")
_INK, _FAINT = "#222222", "#d9dce1"
_PANEL_INCHES = (3.3, 2.4)
_MOST_COLUMNS = 3
_STYLE: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "experiments",  # equal figures give equal files
}
_CHARACTER_INCHES = 0.06
"""Width of a character of a legend or a tick."""
_LEGEND_LINE_INCHES = 0.5
_LONGEST_TICK = 30


def draw(figure_of: Any, *, formats: Sequence[str]) -> dict[str, bytes]:
    """Return a figure as files.

    Args:
        figure_of: Builds the figure; called once, in the style of papers.
        formats: `png` (300 dots per inch) and `svg`.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    files = {}
    with mpl.rc_context(_STYLE):
        figure = figure_of()
        FigureCanvasAgg(figure)
        for name in formats:
            buffer = io.BytesIO()
            metadata = {"Date": None} if name == "svg" else {}
            figure.savefig(buffer, format=name, dpi=300, metadata=metadata)
            files[name] = buffer.getvalue()
    return files


def curves_figure(
    panels: Mapping[str, Mapping[str, Band]], *, label: str, x: str = TIMESTEPS.name
) -> Figure:
    """Draw learning curves: a panel for each task, a line with its band for each method.

    Args:
        panels: For each task the bands by method.
        label: What the vertical axis shows.
        x: What the curves are over, where that is no share of the training.
    """
    n_columns = min(_MOST_COLUMNS, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = _new_figure(n_columns, n_rows)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).flat
    names = list(dict.fromkeys(name for bands in panels.values() for name in bands))
    labels = {name: _with_runs(name, panels) for name in names}
    for axis, (task, bands) in zip(axes, panels.items(), strict=False):
        for name, band in bands.items():
            _draw_band(axis, band, labels[name], index=names.index(name))
        is_share = next(iter(bands.values())).timesteps[-1] <= 1.0
        _finish(axis, title=task, x="part of the training" if is_share else x, y=label)
        if not is_share:
            _count_timesteps(axis)
    for axis in list(axes)[len(panels) :]:
        axis.set_visible(False)
    _put_legend(figure, figure.axes[0])
    return figure


def scores_figure(scores: Sequence[MethodScores], *, label: str, gap_label: str) -> Figure:
    """Draw aggregates as points with their intervals: IQM, mean and, if known, optimality gap."""
    has_gap = all(item.gap is not None for item in scores)
    titles = ["Interquartile mean", "Mean", *(["Optimality gap"] if has_gap else [])]
    names = [_wrap(item.name, _LONGEST_TICK) for item in scores]
    figure = _new_figure(len(titles), 1, height=_height(names), width=2.1 + _width(names) / 3)
    axes = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    places = np.arange(len(scores))[::-1]
    for axis, title in zip(axes, titles, strict=True):
        for place, item in zip(places, scores, strict=True):
            value, low, high = _interval(item, title)
            colour = COLOURS[(len(scores) - 1 - place) % len(COLOURS)]
            if not math.isnan(low):
                axis.plot(
                    [low, high],
                    [place, place],
                    color=colour,
                    lw=5,
                    alpha=0.35,
                    solid_capstyle="butt",
                )
            axis.plot([value], [place], "|", color=colour, ms=11, mew=2.2)
        _finish(axis, title=title, x=gap_label if title == "Optimality gap" else label, y="")
        axis.set_ylim(-0.6, len(scores) - 0.4)
    axes[0].set_yticks(places, names)
    return figure


def profile_figure(comparison: Comparison, *, label: str) -> Figure:
    """Draw which share of the runs scores more than each threshold."""
    figure = _new_figure(1, 1)
    axis = figure.subplots()
    strata = {
        method.name: np.concatenate(comparison.strata(method)) for method in comparison.methods
    }
    values = np.concatenate(list(strata.values()))
    margin = 0.05 * (float(np.ptp(values)) or max(1.0, abs(float(values[0]))))
    thresholds = np.linspace(values.min() - margin, values.max() + margin, 400)
    for index, (name, score) in enumerate(strata.items()):
        axis.plot(
            thresholds, performance_profile(score, thresholds), lw=1.4, label=name,
            color=COLOURS[index % len(COLOURS)], ls=_DASHES[index // len(COLOURS) % len(_DASHES)],
        )  # fmt: skip
    _finish(axis, title="Performance profile", x=f"{label}, τ", y="share of runs above τ")
    _put_legend(figure, axis)
    return figure


def improvement_figure(pairs: Sequence[Improvement]) -> Figure:
    """Draw how likely one method beats another, pair by pair."""
    names = [
        f"{_wrap(pair.method, _LONGEST_TICK)} > {_wrap(pair.other, _LONGEST_TICK)}"
        if len(pair.method + pair.other) < _LONGEST_TICK
        else f"{_wrap(pair.method, _LONGEST_TICK)}\n> {_wrap(pair.other, _LONGEST_TICK)}"
        for pair in pairs
    ]
    figure = _new_figure(1, 1, height=_height(names), width=3.2 + _width(names))
    axis = figure.subplots()
    places = np.arange(len(pairs))[::-1]
    for place, pair in zip(places, pairs, strict=True):
        value, low, high = pair.probability
        if not math.isnan(low):
            axis.plot(
                [low, high],
                [place, place],
                color=COLOURS[0],
                lw=5,
                alpha=0.35,
                solid_capstyle="butt",
            )
        axis.plot([value], [place], "|", color=COLOURS[0], ms=11, mew=2.2)
    axis.axvline(0.5, color=_INK, lw=0.8, ls=":")
    axis.set_yticks(places, names)
    _finish(axis, title="", x="probability of improvement", y="")
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.6, len(pairs) - 0.4)
    return figure


def _new_figure(n_columns: int, n_rows: int, *, height: float = 0.0, width: float = 0.0) -> Figure:
    from matplotlib.figure import Figure

    w, h = width or _PANEL_INCHES[0], height or _PANEL_INCHES[1]
    return Figure(figsize=(w * n_columns, h * n_rows), layout="constrained")


def _wrap(name: str, width: int) -> str:
    """Break a long name, at its hyphens if it can be."""
    return "\n".join(textwrap.wrap(name, width)) or name


def _height(names: Sequence[str]) -> float:
    """Return the inches of a figure with a line for each name."""
    return 0.9 + sum(max(0.28, 0.13 * (name.count("\n") + 1)) for name in names)


def _width(names: Sequence[str]) -> float:
    """Return the inches that the longest line of names takes."""
    return _CHARACTER_INCHES * max(len(line) for name in names for line in name.splitlines())


def _with_runs(name: str, panels: Mapping[str, Mapping[str, Band]]) -> str:
    n_runs = sum(bands[name].n_runs for bands in panels.values() if name in bands)
    return f"{name} ({counted(n_runs, 'run')})"


def _draw_band(axes: Axes, band: Band, label: str, *, index: int) -> None:
    colour = COLOURS[index % len(COLOURS)]
    dash = _DASHES[index // len(COLOURS) % len(_DASHES)] if index >= len(COLOURS) else "-"
    if has_interval(band):
        axes.fill_between(band.timesteps, band.low, band.high, color=colour, alpha=0.18, lw=0)
    axes.plot(band.timesteps, band.value, color=colour, ls=dash, lw=1.4, label=label)


def _interval(item: MethodScores, title: str) -> Interval:
    if title == "Interquartile mean":
        return item.iqm
    if title == "Optimality gap":
        assert item.gap is not None
        return item.gap
    return item.mean


def _count_timesteps(axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _finish(axes: Axes, *, title: str, x: str, y: str) -> None:
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axes.set_title(title, loc="left", color=_INK, fontweight="bold")
    axes.set_xlabel(x, color=_INK)
    axes.set_ylabel(y, color=_INK)
    axes.grid(visible=True, color=_FAINT, lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    for dimension in (axes.xaxis, axes.yaxis):
        formatter = dimension.get_major_formatter()
        if isinstance(formatter, ScalarFormatter):
            formatter.set_useOffset(False)
    axes.tick_params(length=2.5, colors=_INK)


def _put_legend(figure: Figure, axes: Axes) -> None:
    """Write the names below the panels, in columns that fit: inside they would hide curves."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    room = figure.get_figwidth()
    longest = int((room - _LEGEND_LINE_INCHES) / _CHARACTER_INCHES)
    labels = [_wrap(label, longest) for label in labels]
    n_columns = int(room / (_LEGEND_LINE_INCHES + _width(labels)))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(len(labels), max(1, n_columns), _MOST_COLUMNS),
        frameon=False,
    )
