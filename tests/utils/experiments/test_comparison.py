"""Methods beside each other: what is compared, and the numbers."""

import numpy as np
import pytest

from tests.helpers.finished_runs import finished_run, seeds
from tests.helpers.played_runs import make_config
from utils.errors import UserError
from utils.experiments.bands import bands_by_task, overall_bands
from utils.experiments.cache import read_records
from utils.experiments.comparison_text import describe_comparison
from utils.experiments.curves import build_band, choose_curve_key
from utils.experiments.differences import differing_settings
from utils.experiments.methods import Scale, compare_methods
from utils.experiments.statistics import improvements, summarize_methods
from utils.reports.curves import Curve
from utils.storage import write_json

KEY = "val/roll/ep_rew_mean"


def compared(runs_dir, **options):
    everything = read_records(runs_dir)
    records = [r for r in everything if r.columns["algo"] != "random"]
    return compare_methods(
        records, **{"by": None, "metric": "test", **options}, everything=everything
    )


def test_aggregates_of_two_configs_by_hand(tmp_path):
    seeds(tmp_path, [400.0, 500.0, 500.0, 480.0])
    seeds(tmp_path, [100.0, 300.0], variant="other")
    comparison = compared(tmp_path)
    assert (comparison.by, comparison.target) == ("config", 475.0)
    first, second = summarize_methods(comparison)
    assert (first.name, first.n_runs) == ("CartPole-v1:ppo", 4)
    # mean (400 + 500 + 500 + 480) / 4; the middle half is (480 + 500) / 2; the gap 75 / 4
    assert (first.mean.value, first.iqm.value, first.median) == (470.0, 490.0, 490.0)
    # deviations -70, 30, 30, 10: s = 47.61; 3.1824 * s / 2
    assert first.mean.high - 470.0 == pytest.approx(75.76, abs=0.01)
    assert first.gap is not None
    assert first.gap.value == pytest.approx(18.75)
    assert first.iqm.low < 490.0 <= first.iqm.high <= 500.0
    assert (second.mean.value, second.lowest, second.highest) == (200.0, 100.0, 300.0)
    (pair,) = improvements(comparison)
    assert (pair.method, pair.other, pair.probability.value) == (
        "CartPole-v1:ppo",
        "CartPole-v1:other",
        1.0,
    )


def test_several_tasks_are_put_on_one_scale(tmp_path):
    seeds(tmp_path, [475.0, 237.5], algo="ppo")
    seeds(tmp_path, [0.0, 475.0], algo="dqn", variant="dqn")
    seeds(tmp_path, [-100.0, -300.0], env="Acrobot-v1", solved=-100.0)
    seeds(tmp_path, [-500.0, -300.0], env="Acrobot-v1", solved=-100.0, algo="dqn", variant="dqn")
    finished_run(tmp_path, env="Acrobot-v1", algo="random", variant="random", test=-500.0)
    comparison = compared(tmp_path)
    assert comparison.by == "algo"
    assert (
        comparison.scales["Acrobot-v1"].reason == "0 is -500 (random actions), 1 is -100 (solved)"
    )
    assert comparison.scales["CartPole-v1"].reason == "0 is 0 (the worst run), 1 is 475 (solved)"
    strata = {m.name: [s.tolist() for s in comparison.strata(m)] for m in comparison.methods}
    # of Acrobot (x + 500) / 400, of CartPole x / 475
    assert strata == {"ppo": [[1.0, 0.5], [1.0, 0.5]], "dqn": [[0.0, 0.5], [0.0, 1.0]]}
    scores = {item.name: item for item in summarize_methods(comparison)}
    assert scores["ppo"].mean.value == 0.75
    assert scores["ppo"].mean.low == 0.5
    assert scores["dqn"].gap is not None
    assert scores["dqn"].gap.value == pytest.approx((1.0 + 0.5 + 1.0 + 0.0) / 4)
    # of Acrobot 1 > 0, 1 > .5, .5 > 0, .5 = .5: 3.5 / 4
    # of CartPole 1 > 0, 1 = 1, .5 > 0, .5 < 1: 2.5 / 4
    (pair,) = improvements(comparison)
    assert pair.probability.value == pytest.approx((3.5 / 4 + 2.5 / 4) / 2)
    assert set(overall_bands(comparison, KEY)) == {"ppo", "dqn"}


def test_a_method_that_lacks_a_task_is_told(tmp_path):
    seeds(tmp_path, [1.0])
    seeds(tmp_path, [1.0], env="Acrobot-v1")
    seeds(tmp_path, [2.0], algo="dqn", variant="dqn")
    with pytest.raises(UserError, match=r"'dqn' has no run of Acrobot-v1"):
        compared(tmp_path)


def test_runs_without_a_score_are_counted(tmp_path):
    seeds(tmp_path, [1.0, 2.0])
    finished_run(tmp_path, test=None)
    assert compared(tmp_path).n_without_score == 1
    with pytest.raises(UserError, match="no run has 'tst'"):
        compared(tmp_path, metric="tst")


def test_runs_that_repeat_another_are_told(tmp_path):
    seeds(tmp_path, [400.0, 500.0, 480.0])
    seeds(tmp_path, [100.0, 300.0, 200.0], variant="other", gamma=0.99)
    assert [method.n_repeats for method in compared(tmp_path).methods] == [0, 0]
    assert "no new samples" not in text_of(compared(tmp_path))
    seeds(tmp_path, [400.0, 500.0])  # seeds 0 and 1 once more, with the same settings
    seeds(tmp_path, [100.0], variant="other", gamma=0.9)  # and with others
    found = {method.name: method.n_repeats for method in compared(tmp_path).methods}
    assert found == {"CartPole-v1:ppo": 2, "CartPole-v1:other": 0}
    assert "the seed of another: 2 of CartPole-v1:ppo. They are no new" in text_of(
        compared(tmp_path)
    )


def test_any_setting_may_tell_methods_apart(tmp_path):
    seeds(tmp_path, [1.0, 2.0], gamma=0.9)
    seeds(tmp_path, [3.0], gamma=0.99)
    comparison = compared(tmp_path, by="gamma", target=2.0)
    assert [method.name for method in comparison.methods] == ["0.9", "0.99"]
    assert comparison.target == 2.0


def test_settings_that_differ(tmp_path):
    seeds(tmp_path, [1.0, 2.0], gamma=0.9, n=1, both=7, policy_kwargs={"a": 1, "b": [2]})
    seeds(tmp_path, [1.0], variant="b", gamma=0.9, n=2, both=7, policy_kwargs={"a": 1, "b": [3]})
    finished_run(
        tmp_path,
        variant="b",
        gamma=0.9,
        n=2,
        both=8,
        policy_kwargs={"a": 1, "b": [3]},
        seed=9,
        new=True,
    )
    found = {item.key: item.values for item in differing_settings(compared(tmp_path))}
    assert found == {
        "n": ("2", "1"),
        "both": ("(varies)", "7"),
        "new": ("(varies)", "(no such setting)"),
        "policy_kwargs.b": ("[3]", "[2]"),
    }


def test_a_band_by_hand():
    curves = [
        Curve(np.array([100.0, 200.0, 300.0]), np.array([0.0, 10.0, 20.0])),
        Curve(np.array([100.0, 200.0]), np.array([10.0, 30.0])),  # it stopped at its goal
        Curve(np.array([150.0, 300.0]), np.array([20.0, 50.0])),
    ]
    band = build_band([curves])
    assert band is not None
    # It begins where all have a value, and ends where the longest does.
    assert (band.timesteps[0], band.timesteps[-1]) == (150.0, 300.0)
    # at 150: 5, 20, 20; at 300: 20, 30 (held), 50; of three runs the IQM is the mean
    assert band.value[0] == pytest.approx(15.0)
    assert band.value[-1] == pytest.approx(100.0 / 3)
    assert (band.low[-1], band.high[-1]) == (20.0, 50.0)
    assert band.at(1.0).value == band.value[-1]
    single = build_band([curves[:1]])
    assert single is not None
    assert np.isnan(single.low).all()
    assert build_band([[]]) is None


def test_bands_of_tasks_are_normalised():
    curve = Curve(np.array([1.0, 2.0]), np.array([0.0, 50.0]))
    other = Curve(np.array([10.0, 50.0]), np.array([-100.0, -50.0]))
    scales = [Scale(0.0, 100.0, ""), Scale(-100.0, 0.0, "")]
    band = build_band([[curve], [other]], scales)
    assert band is not None
    assert (band.timesteps[0], band.timesteps[-1]) == (0.0, 1.0)
    assert (band.value[0], band.value[-1]) == (0.0, 0.5)


def test_few_evaluations_make_room_for_the_return_in_training(tmp_path):
    run = finished_run(tmp_path, curve=[1.0, 2.0])
    assert choose_curve_key([run]) == KEY
    with run.metrics_jsonl.open("a") as file:
        file.write('{"epoch": 9, "timesteps": 900, "train/roll/ep_rew_mean": 3.0}\n')
    assert choose_curve_key([run]) == "train/roll/ep_rew_mean"
    assert choose_curve_key([finished_run(tmp_path, curve=[1.0] * 5)]) == KEY


def text_of(comparison):
    return describe_comparison(
        comparison,
        summarize_methods(comparison),
        improvements(comparison),
        overall_bands(comparison, KEY),
        differing_settings(comparison),
        curve="return in evaluation",
    )


def test_the_text_tells_everything(tmp_path):
    seeds(tmp_path, [400.0, 500.0, 480.0], gamma=0.9)
    seeds(tmp_path, [100.0, 300.0], variant="other", gamma=0.99)
    text = text_of(compared(tmp_path))
    assert "test/best/ep_rew_mean of 5 runs by config on CartPole-v1" in text
    assert "gap to 475 [95 %]" in text
    assert "CartPole-v1:ppo > CartPole-v1:other  1.00 [1.00, 1.00]" in text
    assert "fewer than 6 runs of CartPole-v1:ppo, CartPole-v1:other" in text
    assert "mean ± 95 %" in text
    (line,) = [line for line in text.splitlines() if line.startswith("gamma")]
    assert line.split() == ["gamma", "0.99", "0.9"]
    with pytest.raises(UserError, match="has a curve of 'nothing'"):
        bands_by_task(compared(tmp_path), "nothing")


def test_a_setting_that_came_after_a_run_does_not_tell_it_apart(tmp_path):
    new = make_config().to_dict()
    old = {"schema_version": 1} | {
        k: v for k, v in new.items() if k not in ("schema_version", "reward_scale")
    }
    for config in (new, old):
        run = finished_run(tmp_path, variant="x")
        write_json(run.config_path, config)
    comparison = compared(tmp_path, by="id")
    assert len(comparison.methods) == 2
    assert differing_settings(comparison) == []
    write_json(run.config_path, old | {"reward_scale": 0.5})
    (difference,) = differing_settings(compared(tmp_path, by="id"))
    assert (difference.key, set(difference.values)) == ("reward_scale", {"1", "0.5"})
