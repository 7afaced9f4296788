import re

import pytest

from utils.errors import ConfigError
from utils.metrics_config import METRICS_YAML, load_metrics_config

DOCUMENTED = (
    "train/roll/ep_rew_mean",
    "train/roll/learner_reward_mean",
    "train/cnt/timesteps",
    "train/loss/value",
    "train/ppo/approx_kl",
    "train/grad/norm_trunk",
    "train/hp/policy_lr",
    "val/roll/ep_rew_best",
)


def write(tmp_path, text):
    path = tmp_path / "metrics.yaml"
    path.write_text(text)
    return path


def test_every_metric_of_the_project_is_described():
    config = load_metrics_config()
    for key in DOCUMENTED:
        assert config.metric(key).description, key
    for name, group in config.groups.items():
        for metric, spec in group.metrics.items():
            assert spec.description, f"{name}/{metric}"


def test_every_alert_is_about_a_metric_that_exists_and_says_what_to_do():
    config = load_metrics_config()
    for alert in config.alerts:
        group, _, name = alert.metric.rpartition("/")
        assert name in config.groups[group].metrics, alert.metric
        # A text with a comma that lost its quotes in the YAML falls into pieces.
        assert all(text.count("(") == text.count(")") for text in alert.causes + alert.fixes), alert


def test_group_settings_hold_for_its_metrics_and_for_keys_without_an_entry(tmp_path):
    path = write(
        tmp_path,
        "groups:\n  train/a:\n    title: A\n    precision: 1\n    reducer: max\n"
        "    metrics:\n      x: {}\n      y: {precision: 3, reducer: last}\n",
    )
    config = load_metrics_config(path)
    found = {n: config.metric(f"train/a/{n}") for n in "xyz"}
    assert {n: (m.precision, m.reducer) for n, m in found.items()} == {
        "x": (1, "max"),
        "y": (3, "last"),
        "z": (1, "max"),
    }
    assert config.metric("train/b/x").reducer == "mean"


def test_keys_are_sorted_as_in_the_file():
    keys = ["train/zzz/a", "train/loss/new", "train/loss/value", "val/roll/ep_rew_mean"]
    assert load_metrics_config().sort_keys(keys) == [
        "val/roll/ep_rew_mean",
        "train/loss/value",
        "train/loss/new",
        "train/zzz/a",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("groups: {train/a: {title: A, metrics: {x: {precison: 2}}}}", "precison: Extra inputs"),
        ("groups: {train/a: {title: A, metrics: {x: {goal: sideways}}}}", "'up' or 'down'"),
        ("groups: {train/a: {metrics: {}}}", "title: Field required"),
        (
            "groups: {}\nalerts: [{metric: train/a/b, message: m, causes: [c], fixes: [f]}]",
            "needs a condition",
        ),
        (
            "groups: {}\nalerts: [{metric: a, above: 1, message: m, causes: [c], fixes: [f]}]",
            "should match pattern",
        ),
        ("groups: [", "is not YAML"),
    ],
)
def test_mistake_in_the_file_is_a_config_error(tmp_path, text, problem):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=re.escape(problem)) as caught:
        load_metrics_config(path)
    assert str(path) in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_metrics_config(tmp_path / "no.yaml")


def test_the_file_is_parsed_once():
    assert load_metrics_config(METRICS_YAML) is load_metrics_config(METRICS_YAML)
