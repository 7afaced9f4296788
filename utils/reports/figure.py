"""The curves of a run as one picture."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utils.metrics.axis import Axis, choose_axis
from utils.metrics.windows import EPISODE_WINDOW
from utils.metrics_config import load_metrics_config
from utils.reports.curves import Curve, read_curve, smooth, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _ORANGE, _GREEN, _GREY = "#2f6db3", "#e07b28", "#2e8b57", "#8a8f98"
_MOST_POINTS = 400
_COLUMNS = 4
_TRAINING_KEY, _FITNESS_KEY = "train/roll/ep_rew_mean", "train/evolve/fitness_mean"
_STAGES = {"train": "training", "val": "eval"}
_FLAT = 1e-6  # of the size of the values: what varies less is rounding
_LOGARITHMIC_FROM = 30.0  # ratio of the largest to the smallest value


@dataclass(frozen=True, slots=True)
class Panel:
    """One small picture: a title and the metrics in it, with their labels."""

    title: str
    metrics: Mapping[str, str]
    is_logarithmic: bool = False


PANELS = (
    Panel("Pictures explained (share)", {"train/vae/explained": ""}),
    Panel("Rewards foretold (share)", {"train/rnn/reward_explained": ""}),
    Panel(
        "Fitness",
        {_FITNESS_KEY: "mean", "train/evolve/fitness_best": "best"},
    ),
    Panel("Policy loss", {"train/loss/policy": ""}),
    Panel("Value loss", {"train/loss/value": ""}, is_logarithmic=True),
    Panel(
        "Decoder loss",
        {"train/loss/vector": "numbers", "train/loss/picture": "pictures"},
        is_logarithmic=True,
    ),
    Panel("Latent divergence (nats)", {"train/world_model/divergence": ""}),
    Panel("Head losses", {"train/loss/reward": "reward", "train/loss/continue": "end"}),
    Panel("Reward error (share)", {"train/world_model/reward_error": ""}),
    Panel("Actor loss", {"train/loss/actor": ""}),
    Panel("Critic loss", {"train/loss/critic": "", "train/loss/replay_critic": "replayed"}),
    Panel("Entropy in dreams (nats)", {"train/dreamer/entropy": ""}),
    Panel("Dreams", {"train/dreamer/return_mean": "return", "train/dreamer/value_mean": "value"}),
    Panel("KL divergence", {"train/ppo/approx_kl": ""}),
    Panel("Clip fraction", {"train/ppo/clip_fraction": ""}),
    Panel("Explained variance", {"train/ppo/explained_variance": ""}),
    Panel("Entropy (nats)", {"train/policy/entropy": ""}),
    Panel("Action deviation", {"train/policy/std": ""}),
    Panel("Gradient norm", {"train/grad/norm": ""}, is_logarithmic=True),
    Panel("Learning rate", {"train/hp/policy_lr": ""}),
    Panel("Episode length", {"train/roll/ep_len_mean": "training", "val/roll/ep_len_mean": "eval"}),
    Panel("Timesteps per second", {"train/time/steps_per_second": ""}),
    Panel(
        "Epoch (seconds)",
        {"train/time/rollout_seconds": "rollout", "train/time/update_seconds": "update"},
    ),
    Panel("Clipped gradients", {"train/grad/clipped_fraction": ""}),
)
"""By importance: those that would only begin a row of pictures are left out."""


def draw_curves(
    rows: Sequence[Mapping[str, Any]],
    *,
    solved_threshold: float | None,
    stop_threshold: float | None,
) -> bytes:
    """Draw the returns large and every panel that has data small.

    Args:
        rows: Metrics of one epoch each, with `timesteps`.
        solved_threshold: Mean return at which the task counts as solved; None draws no line.
        stop_threshold: Mean return at which the run stops early; None or the same draws no line.

    Returns:
        A PNG.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = build_figure(rows, solved_threshold=solved_threshold, stop_threshold=stop_threshold)
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()


def build_figure(
    rows: Sequence[Mapping[str, Any]],
    *,
    solved_threshold: float | None,
    stop_threshold: float | None,
) -> Figure:
    """Build what `draw_curves` draws."""
    # The figure alone, without pyplot: half the import time, and no global state.
    from matplotlib.figure import Figure

    axis = choose_axis(rows)
    panels = [(panel, _read(rows, panel, axis)) for panel in (*main_panels(rows), *PANELS)]
    panels = [(panel, curves) for panel, curves in panels if curves]
    n_rows = max(3, (len(panels) + 4) // _COLUMNS)  # the returns take the place of four
    figure = Figure(figsize=(12.5, 2.15 * n_rows), dpi=100)
    grid = figure.add_gridspec(
        n_rows, _COLUMNS, left=0.05, right=0.99, top=0.945, bottom=0.075, wspace=0.3, hspace=0.52
    )
    # The upper part is left to the legend.
    _, place = grid[:2, :2].subgridspec(2, 1, height_ratios=(0.11, 1.0), hspace=0.0)
    _draw_returns(
        figure.add_subplot(place),
        rows,
        axis,
        solved_threshold=solved_threshold,
        stop_threshold=stop_threshold,
    )
    slots = [(r, c) for r in range(n_rows) for c in range(_COLUMNS) if r >= 2 or c >= 2]
    for (panel, curves), (r, c) in zip(panels, slots, strict=False):
        _draw_panel(figure.add_subplot(grid[r, c]), panel, curves)
    return figure


def main_panels(rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Return a panel of each metric to look at first that `PANELS` has not: those of an algorithm.

    What training and evaluation both tell is in one panel. Returns are drawn large, and not here.
    """
    config = load_metrics_config()
    known = {key for panel in PANELS for key in panel.metrics}
    keys = {key for row in rows for key in row} - known
    metrics: dict[str, dict[str, str]] = {}
    for key in config.sort_keys(sorted(keys)):
        stage, _, name = key.partition("/")
        if config.metric(key).highlight and not name.startswith("roll/"):
            metrics.setdefault(name, {})[key] = _STAGES.get(stage, stage)
    return [Panel(name, parts) for name, parts in metrics.items()]


def _read(rows: Sequence[Mapping[str, Any]], panel: Panel, axis: Axis) -> dict[str, Curve]:
    curves = {label: read_curve(rows, key, over=axis.key) for key, label in panel.metrics.items()}
    return {label: curve for label, curve in curves.items() if len(curve) > 0}


def _draw_returns(
    axes: Axes,
    rows: Sequence[Mapping[str, Any]],
    axis: Axis,
    *,
    solved_threshold: float | None,
    stop_threshold: float | None,
) -> None:
    def read(key: str) -> Curve:
        return read_curve(rows, key, over=axis.key)

    low, high = read("train/roll/ep_rew_min"), read("train/roll/ep_rew_max")
    if len(low) and len(low) == len(high):
        low, high = thin(low, n_points=_MOST_POINTS), thin(high, n_points=_MOST_POINTS)
        axes.fill_between(
            low.x, low.values, high.values, color=_BLUE, alpha=0.13, lw=0, label="range"
        )
    train = read(_TRAINING_KEY)
    if len(train):
        _plot(axes, train, _BLUE, _training_label(rows))
    _draw_evaluations(axes, read("val/roll/ep_rew_mean"))
    if solved_threshold is not None:
        label = f"solved: {solved_threshold:g}"
        axes.axhline(solved_threshold, color=_GREEN, lw=1, ls="--", label=label)
    if stop_threshold not in (None, solved_threshold):
        label = f"stops at: {stop_threshold:g}"
        axes.axhline(stop_threshold, color=_GREY, lw=1, ls=":", label=label)
    _style(axes, "Return of an episode", title_pad=31.0)
    axes.set_xlabel(axis.name, fontsize=8, color="#444444")
    _put_legend(axes, corner="left", n_columns=3)


def _training_label(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say which episodes the return in training is over; evolution tells those of a generation."""
    if any(row.keys() >= {_TRAINING_KEY, _FITNESS_KEY} for row in rows):
        return "mean of the latest episodes"
    return f"mean of the last {EPISODE_WINDOW} episodes"


def _put_legend(axes: Axes, *, corner: str, n_columns: int) -> None:
    """Write what the curves are above the axes: inside them it would lie over curves."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    axes.legend(
        handles, labels, fontsize=7, frameon=False, ncols=n_columns, loc=f"lower {corner}",
        bbox_to_anchor=(float(corner == "right"), 1.0), borderaxespad=0.2, borderpad=0.2,
        handlelength=1.2, columnspacing=1.2, handletextpad=0.5, labelspacing=0.25,
    )  # fmt: skip


def _draw_evaluations(axes: Axes, mean: Curve) -> None:
    if not len(mean):
        return
    axes.plot(mean.x, mean.values, "-o", color=_ORANGE, ms=3.5, lw=1.4, label="evaluation")
    best = int(mean.values.argmax())
    axes.plot(
        mean.x[best], mean.values[best], "*", color=_ORANGE, ms=13, mec="white", mew=0.8,
        label=f"best evaluation: {mean.values[best]:,.4g}",
    )  # fmt: skip


def _draw_panel(axes: Axes, panel: Panel, curves: Mapping[str, Curve]) -> None:
    from matplotlib.ticker import NullFormatter

    for (label, curve), colour in zip(curves.items(), (_BLUE, _ORANGE), strict=False):
        _plot(axes, curve, colour, label or None)
    _style(axes, panel.title)
    _widen_if_flat(axes, curves.values())
    if panel.is_logarithmic and all(_spans_magnitudes(curve) for curve in curves.values()):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    if len(curves) > 1:
        _put_legend(axes, corner="right", n_columns=2)


def _widen_if_flat(axes: Axes, curves: Collection[Curve]) -> None:
    """Show a constant as a line in the middle, and not what rounding makes of it."""
    low = min(curve.values.min() for curve in curves)
    high = max(curve.values.max() for curve in curves)
    size = max(abs(low), abs(high))
    if high - low <= _FLAT * size:
        margin = 0.1 * size or 1.0
        axes.set_ylim(low - margin, high + margin)


def _spans_magnitudes(curve: Curve) -> bool:
    low, high = curve.values.min(), curve.values.max()
    return bool(low > 0 and high > _LOGARITHMIC_FROM * low)


def _plot(axes: Axes, curve: Curve, colour: str, label: str | None) -> None:
    """Plot a curve thin and pale, its moving mean over a twentieth of it on top."""
    shown = thin(curve, n_points=_MOST_POINTS)
    window = 2 * (len(shown) // 40) + 1
    if window > 1:
        axes.plot(shown.x, shown.values, color=colour, lw=0.7, alpha=0.3)
        shown = smooth(shown, window=window)
    marker = "o" if len(shown) == 1 else None
    axes.plot(shown.x, shown.values, color=colour, lw=1.5, label=label, marker=marker, ms=4)


def _style(axes: Axes, title: str, *, title_pad: float = 6.0) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    from utils.reports.ticks import ShortFormatter

    axes.set_title(title, fontsize=9, loc="left", color="#222222", fontweight="bold", pad=title_pad)
    axes.grid(visible=True, color="#e4e6ea", lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#c4c8ce")
    axes.tick_params(labelsize=7.5, colors="#444444", length=2.5)
    axes.yaxis.set_major_formatter(ShortFormatter())
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.margins(x=0.02)
