"""Figures are built and told what they show; the files are those of their formats."""

import io
import xml.etree.ElementTree as ElementTree

import pytest

from tests.helpers.finished_runs import seeds
from utils.experiments import figures
from utils.experiments.bands import bands_by_task
from utils.experiments.cache import read_records
from utils.experiments.methods import compare_methods
from utils.experiments.statistics import improvements, summarize_methods


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    seeds(folder, [400.0, 500.0, 480.0])
    seeds(folder, [100.0, 300.0], variant="other")
    seeds(folder, [50.0], variant="single")
    return compare_methods(read_records(folder), by="variant", metric="test")


def words(figure):
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_curves_have_a_line_and_a_band_for_each_method(comparison):
    panels = bands_by_task(comparison, "val/roll/ep_rew_mean")
    figure = figures.curves_figure(panels, label="return in evaluation")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "timesteps"
    (other,) = figures.curves_figure(panels, label="return", x="epochs").axes
    assert other.get_xlabel() == "epochs"
    assert len(axes.lines) == 3
    assert len(axes.collections) == 2  # a single run has no band
    assert {
        "CartPole-v1",
        "ppo (3 runs)",
        "single (1 run)",
        "return in evaluation",
        "timesteps",
    } <= set(words(figure))
    assert len({line.get_color() for line in axes.lines}) == 3


def test_scores_profile_and_improvement(comparison):
    figure = figures.scores_figure(
        summarize_methods(comparison), label="test", gap_label="gap to 475"
    )
    assert {"Interquartile mean", "Mean", "Optimality gap", "ppo", "other"} <= set(words(figure))
    profile = figures.profile_figure(comparison, label="test")
    assert len(profile.axes[0].lines) == 3
    pairs = figures.improvement_figure(improvements(comparison))
    assert {"ppo > other", "ppo > single", "other > single"} <= set(words(pairs))


def test_files_are_what_their_names_say(comparison):
    files = figures.draw(
        lambda: figures.profile_figure(comparison, label="a_b"), formats=["png", "svg"]
    )
    assert files["png"].startswith(b"\x89PNG")
    root = ElementTree.fromstring(files["svg"])
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "a_b, τ" in texts  # text stays text, so that it can be searched and set in another font


LONG = "20261128-211226-CartPole-v1-ppo-x5 and some more words"


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in (LONG, f"{LONG} 2"):
        seeds(folder, [500.0, 500.0], variant=name)
    return compare_methods(read_records(folder), by="variant", metric="test")


@pytest.mark.parametrize("kind", ["curves", "scores", "profile", "improvement"])
def test_long_names_stay_within_the_picture(long_names, kind):
    from matplotlib.image import imread

    build = {
        "curves": lambda: figures.curves_figure(
            bands_by_task(long_names, "val/roll/ep_rew_mean"), label="return in evaluation"
        ),
        "scores": lambda: figures.scores_figure(
            summarize_methods(long_names), label="test return", gap_label="gap to 475"
        ),
        "profile": lambda: figures.profile_figure(long_names, label="test return"),
        "improvement": lambda: figures.improvement_figure(improvements(long_names)),
    }[kind]
    built = []
    files = figures.draw(lambda: built.append(build()) or built[-1], formats=["png"])
    picture = imread(io.BytesIO(files["png"]))[..., :3]
    assert picture[:, :4].min() == 1.0  # white: nothing is cut off
    assert picture[:, -4:].min() == 1.0
    (figure,) = built
    assert not any(axis.xaxis.get_offset_text().get_text() for axis in figure.axes)
    assert all(axis.get_position().width > 0.25 / len(figure.axes) for axis in figure.axes)
