import io
import math

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from utils.reports.figure import PANELS, build_figure, draw_curves


def make_rows(n, **changes):
    rows = []
    for k in range(1, n + 1):
        row = {"epoch": k, "timesteps": 100 * k}
        row |= {key: float(k) for panel in PANELS for key in panel.metrics}
        row |= {f"train/roll/ep_rew_{name}": float(k) for name in ("min", "mean", "max")}
        if k % 5 == 0:
            row["val/roll/ep_rew_mean"] = 2.0 * k
        rows.append(row | changes)
    return rows


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def count(image, colour):
    """Count the pixels near a colour."""
    return int((np.abs(image.astype(int) - colour).sum(axis=2) < 30).sum())


ORANGE, GREEN = (0xE0, 0x7B, 0x28), (0x2E, 0x8B, 0x57)


def test_all_curves_fit_into_one_picture():
    image = pixels(draw_curves(make_rows(300), solved_threshold=475.0, stop_threshold=490.0))
    assert image.shape == (1505, 1250, 3)
    assert count(image, ORANGE) > 300
    assert count(image, GREEN) > 100


def test_without_threshold_or_evaluation_their_colours_are_absent():
    rows = [
        {key: value for key, value in row.items() if not key.startswith("val/")}
        for row in make_rows(10)
    ]
    second = {key for panel in PANELS for key in list(panel.metrics)[1:]}
    rows = [{key: value for key, value in row.items() if key not in second} for row in rows]
    image = pixels(draw_curves(rows, solved_threshold=None, stop_threshold=None))
    assert count(image, ORANGE) == 0
    assert count(image, GREEN) == 0


def test_few_metrics_make_a_smaller_picture():
    rows = [{"epoch": 1, "timesteps": 10, "train/roll/ep_rew_mean": 1.0}]
    assert pixels(draw_curves(rows, solved_threshold=None, stop_threshold=None)).shape == (
        645,
        1250,
        3,
    )


def test_broken_numbers_and_odd_runs_are_drawn():
    draw_curves(
        make_rows(7, **{"train/loss/value": math.nan}), solved_threshold=0.0, stop_threshold=0.0
    )
    draw_curves(
        make_rows(3, **{"train/grad/norm": -1.0, "train/loss/policy": 1e30}),
        solved_threshold=1.0,
        stop_threshold=None,
    )
    draw_curves([{"epoch": 1, "timesteps": 10}], solved_threshold=None, stop_threshold=None)


def test_the_threshold_of_the_task_is_not_the_one_that_stops_the_run():
    for stop, told in ((490.0, ["solved: 475", "stops at: 490"]), (475.0, ["solved: 475"])):
        figure = build_figure(make_rows(9), solved_threshold=475.0, stop_threshold=stop)
        labels = figure.axes[0].get_legend_handles_labels()[1]
        assert [label for label in labels if label.startswith(("solved", "stops"))] == told


def titles(rows):
    figure = build_figure(rows, solved_threshold=None, stop_threshold=None)
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_what_an_algorithm_is_judged_by_comes_first():
    row = {"epoch": 1, "timesteps": 10, "train/grad/norm": 1.0, "train/loss/value": 1.0}
    row |= {"train/dqn/td_error": 1.0, "val/roll/ep_rew_mean": 1.0, "train/dqn/unknown": 1.0}
    row |= {"train/env/is_success": 1.0, "val/env/is_success": 1.0}
    assert titles([row])[1:] == ["env/is_success", "dqn/td_error", "Value loss", "Gradient norm"]
    # Of world models in the order in which they are learnt and looked at.
    keys = ("vae/explained", "rnn/reward_explained", "evolve/fitness_mean", "loss/picture")
    others = titles([{"epoch": 1, "timesteps": 10} | {f"train/{key}": 1.0 for key in keys}])[1:]
    assert others == [
        "Pictures explained (share)", "Rewards foretold (share)", "Fitness", "Decoder loss",
    ]  # fmt: skip


def test_what_is_learnt_while_no_timesteps_are_made_is_no_vertical_line():
    rows = [{"epoch": k, "timesteps": 16_000, "train/loss/value": 1.0 / k} for k in range(1, 9)]
    figure = build_figure(rows, solved_threshold=None, stop_threshold=None)
    returns, loss = figure.axes
    assert returns.get_xlabel() == "epochs"
    assert loss.lines[0].get_xdata().tolist() == list(range(1, 9))


def test_the_return_in_training_says_which_episodes_it_is_over():
    rows = [{"epoch": 1, "timesteps": 10, "train/roll/ep_rew_mean": 1.0}]
    for more, label in (
        ({}, "mean of the last 100 episodes"),
        ({"train/evolve/fitness_mean": 1.0}, "mean of the latest episodes"),
    ):
        figure = build_figure([rows[0] | more], solved_threshold=None, stop_threshold=None)
        assert label in figure.axes[0].get_legend_handles_labels()[1]


def test_the_numbers_of_a_constant_or_tiny_metric_stay_beside_its_own_axes():
    rows = make_rows(300)
    for row in rows:
        row["train/hp/policy_lr"] = 1e-3 * (1.0 + 1e-16 * row["epoch"])
        row["train/grad/norm"] = 1e-7 * row["epoch"]
        row["train/loss/value"] = -123_456.0 - row["epoch"]
    figure = build_figure(rows, solved_threshold=None, stop_threshold=None)
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        for label in axes.get_yticklabels():
            extent = label.get_window_extent()
            assert not any(
                other is not axes and extent.overlaps(other.bbox) for other in figure.axes
            )
            assert len(label.get_text()) < 9 or "mathdefault" in label.get_text(), label.get_text()


def test_no_legend_lies_over_curves_or_titles():
    rows = make_rows(300, **{"val/roll/ep_rew_mean": -12345.6})
    figure = build_figure(rows, solved_threshold=-110.0, stop_threshold=-100.5)
    FigureCanvasAgg(figure).draw()
    legends = [axes for axes in figure.axes if axes.get_legend()]
    assert len(legends) == 8
    for axes in legends:
        legend = axes.get_legend().get_window_extent().padded(-1)
        assert not legend.overlaps(axes.bbox)
        assert not legend.overlaps(axes._left_title.get_window_extent())
        assert legend.x1 <= axes.bbox.x1 + 2
        assert all(other is axes or not legend.overlaps(other.bbox) for other in figure.axes)
