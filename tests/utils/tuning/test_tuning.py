"""Tunings: spaces that fit their configs, trials that are judged alike, workers that may die."""

import json
import shutil
import signal
import time
from pathlib import Path

import pytest
import yaml

from tests.helpers.commands import Command
from utils.config import load_config
from utils.config.catalog import find_config_ids
from utils.errors import ConfigError, UserError
from utils.sweeps.parameters import Choice
from utils.tuning import find_space, known_spaces
from utils.tuning.cli import parse_tune_args
from utils.tuning.session import plan_tuning, tuning_folder

ROOT = Path(__file__).resolve().parents[3]
CONFIG = "CartPole-v1:ppo_simd"
LONGEST_SECONDS = 300.0


def plan(*arguments):
    return plan_tuning(parse_tune_args(list(arguments)))


def fixed(spec):
    """Return the settings that are the same in each trial."""
    return {".".join(o.path): o.value for o in spec.train_args.overrides}


@pytest.mark.parametrize("algo_id", known_spaces())
def test_a_config_of_each_algorithm_takes_its_space(algo_id):
    ids = find_config_ids(f"*:{algo_id}*")
    config_id = next(i for i in ids if load_config(i).algo_id == algo_id)
    spec, _ = plan(config_id)
    assert len(spec.varying) >= 3
    assert spec.config_id == config_id


def test_trials_are_evaluated_evenly_and_none_ends_early():
    spec, notes = plan(CONFIG, "--max-timesteps", "1e4", "--evaluations", "5", "--set", "n_envs=8")
    assert notes == []
    assert fixed(spec) == {
        "video": "none",
        "test_episodes": 0,
        "max_timesteps": 10_000,
        "early_stop_on_eval_reward": False,
        "early_stop_on_train_reward": False,
        "eval_freq_timesteps": 2000,
        "n_envs": 8,
    }
    assert (spec.early_terminate.kind, spec.early_terminate.min_iter) == ("hyperband", 1)
    assert plan(CONFIG, "--pruner", "none")[0].early_terminate is None
    assert (
        plan(CONFIG, "--pruner", "median", "--evaluations", "20")[0].early_terminate.min_iter == 5
    )


def test_a_period_of_ones_own_replaces_the_even_one():
    spec, _ = plan(CONFIG, "--set", "eval_freq_epochs=7")
    assert fixed(spec)["eval_freq_epochs"] == 7
    assert "eval_freq_timesteps" not in fixed(spec)


def test_what_is_set_for_all_trials_is_no_parameter():
    spec, _ = plan(CONFIG, "--set", "gamma=0.9", "--set", "policy_kwargs.hidden_dims=[8]")
    assert "gamma" not in spec.parameters
    assert "policy_kwargs.hidden_dims" not in spec.parameters
    assert "policy_lr.start" in spec.parameters
    spec, _ = plan(CONFIG, "--set", "policy_lr=lin_1e-3")
    assert not [name for name in spec.parameters if name.startswith("policy_lr")]


def test_a_shared_space_is_cut_to_what_the_config_takes():
    spec, notes = plan("CartPole-v1:ppo_memory")  # it learns from sequences of 32 steps
    assert spec.parameters["n_steps"] == Choice((32, 64, 128, 256))
    (note,) = notes
    assert note.startswith("left out n_steps: 16 (sequence_length 32 does not divide")
    spec, (note,) = plan("Pendulum-v1:dreamer_v1")
    assert "slow_critic_rate" not in spec.parameters
    assert note.startswith("left out slow_critic_rate ('slow_critic_rate' has no effect")


def test_a_space_of_ones_own_must_fit_whole(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("parameters:\n  n_steps: {values: [32, 48]}\n  batch_size: {value: 1.0}\n")
    with pytest.raises(ConfigError, match="sequence_length 32 does not divide n_steps 48"):
        plan("CartPole-v1:ppo_memory", "--space", str(path))
    path.write_text("parameters:\n  gama: {values: [0.9, 0.99]}\n")
    with pytest.raises(ConfigError, match="did you mean 'gamma'"):
        plan(CONFIG, "--space", str(path))
    path.write_text("parameters:\n  gamma: {vals: [0.9]}\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml:2: parameter 'gamma'"):
        plan(CONFIG, "--space", str(path))
    path.write_text("metric: x\nparameters:\n  gamma: {values: [0.9]}\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml:1: unknown key 'metric'"):
        plan(CONFIG, "--space", str(path))


def test_mistakes_are_told():
    with pytest.raises(ConfigError, match="no search space for random"):
        plan("CartPole-v1:random")
    with pytest.raises(ConfigError, match="--set seed"):
        plan(CONFIG, "--set", "seed=1")
    with pytest.raises(ConfigError, match="give one of them"):
        plan(CONFIG, "--max-timesteps", "1e4", "--set", "max_timesteps=2e5")
    with pytest.raises(UserError, match="did you mean '--pruner'"):
        parse_tune_args([CONFIG, "--prunner", "none"])
    with pytest.raises(UserError, match="did you mean 'hyperband'"):
        parse_tune_args([CONFIG, "--pruner", "hyperbnd"])
    with pytest.raises(UserError, match="name what to tune"):
        parse_tune_args([])
    with pytest.raises(UserError, match="choose one"):
        parse_tune_args([CONFIG, "--best", "--report"])


def test_the_folder_is_named_after_the_config():
    assert str(tuning_folder(parse_tune_args(["ALE/Pong-v5:ppo"]))) == "runs/tuning/ALE-Pong-v5-ppo"
    assert find_space("ppo").name == "ppo.yaml"


# -- real processes; a quick program stands in for train.py --------------------------------------

pytest.importorskip("optuna")

from utils.sweeps.report import draw_sweep  # noqa: E402
from utils.sweeps.study import PROCESS, SETTINGS, SweepStudy, state_of  # noqa: E402

SPACE = "parameters:\n  gamma: {min: 0.1, max: 0.9}\n  n_epochs: {values: [%s]}\n"


def arguments(folder, *options, n_epochs="1, 2"):
    shutil.copy(ROOT / "tests" / "helpers" / "quick_training.py", folder / "train.py")
    (folder / "space.yaml").write_text(SPACE % n_epochs)
    fixed = ("--space", str(folder / "space.yaml"), "--out", str(folder / "out"), "--jobs", "1")
    return [CONFIG, *fixed, *options]


def start(folder, words):
    modules = ("tests.helpers.quick_tune", "matplotlib.figure")
    return Command("tests.helpers.quick_tune", str(folder), *words, modules=modules)


def study_of(words):
    args = parse_tune_args(words)
    spec, _ = plan_tuning(args)
    return SweepStudy(spec, args.folder, seed=0, n_seeds=1, is_read_only=True)


def wait_until(condition):
    deadline = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_best_becomes_a_variant_that_train_takes(tmp_path):
    words = arguments(tmp_path, "--n-trials", "10", "--seeds", "1", "--sampler", "random")
    done = start(tmp_path, words).wait()
    assert done.code == 0, done.err
    found = study_of(words)
    ended = [t for t in found.trials if state_of(t) in ("complete", "pruned")]
    assert len(ended) == 10
    assert "what matters most: " in done.out
    axes = draw_sweep(found).axes
    assert axes[3].get_title() == "what matters"
    assert {label.get_text() for label in axes[3].get_yticklabels()} == {"gamma", "n_epochs"}
    (line,) = [line for line in done.out.splitlines() if line.startswith("best: trial ")]
    config = load_config(line.rpartition(" ")[2])
    settings = found.best.user_attrs[SETTINGS]
    own = load_config(CONFIG)
    assert (config.gamma, config.n_epochs) == (settings["gamma"], settings["n_epochs"])
    # What belongs to the trials alone has not stayed.
    assert config.max_timesteps == own.max_timesteps
    assert config.eval_freq_epochs == own.eval_freq_epochs
    assert config.early_stop_on_eval_reward == own.early_stop_on_eval_reward
    page = (tmp_path / "out" / "report.md").read_text()
    assert page.startswith(f"# Tuning of {CONFIG}")
    assert "## What matters" in page
    shown = start(tmp_path, [*words, "--best", "--max-timesteps", "77"]).wait()
    assert shown.code == 0, shown.err
    (variant,) = [key for key in yaml.safe_load(shown.out) if key != "_base"]
    assert variant == "ppo_simd_tuning"
    assert yaml.safe_load(shown.out)[variant]["gamma"] == settings["gamma"]


def test_one_of_two_tuners_is_killed_and_nothing_is_lost(tmp_path):
    slow = arguments(tmp_path, "--n-trials", "4", "--seeds", "1", "--pruner", "none", n_epochs="9")
    first = start(tmp_path, slow)
    wait_until(lambda: list(tmp_path.glob("out/trials/0000/*/*/metrics.jsonl")))
    second = start(tmp_path, slow)
    wait_until(lambda: list(tmp_path.glob("out/trials/0001/*/*/metrics.jsonl")))
    first.send(signal.SIGKILL)
    first.wait()
    (tmp_path / "go").touch()
    done = second.wait()
    assert done.code == 0, done.err
    found = study_of(slow).trials
    states = [state_of(trial) for trial in found]
    assert states.count("complete") == 4
    (lost,) = [trial for trial in found if state_of(trial) == "lost"]
    again = [t for t in found if t.user_attrs.get("again") == lost.number]
    assert [state_of(trial) for trial in again] == ["complete"]
    assert again[0].user_attrs[SETTINGS] == lost.user_attrs[SETTINGS]
    assert again[0].user_attrs[PROCESS] != lost.user_attrs[PROCESS]
    for line in (tmp_path / "out" / "journal.log").read_text().splitlines():
        json.loads(line)


def test_with_fewer_jobs_than_seeds_a_laggard_is_stopped_by_its_first_seed(tmp_path):
    words = arguments(tmp_path, "--n-trials", "8", "--seeds", "2", "--sampler", "random")
    done = start(tmp_path, [*words, "--evaluations", "9"]).wait()
    assert done.code == 0, done.err
    pruned = [t for t in study_of(words).trials if state_of(t) == "pruned"]
    assert all(t.user_attrs["runs"] for t in pruned)
    for trial in pruned:
        first, second = (Path(folder) for folder in trial.user_attrs["runs"])
        assert first.exists()
        assert not second.exists()


def test_a_metric_that_no_trial_can_have_is_refused_before_any_begins(tmp_path):
    for name, why in {
        "foo": "no training has a metric 'foo'",
        "val/roll/ep_rew_meen": "did you mean 'val/roll/ep_rew_mean'",
        "test/best/ep_rew_mean": "trials have no final test",
    }.items():
        with pytest.raises(ConfigError, match=f"--metric {name}: .*{why}"):
            plan(CONFIG, "--metric", name)
    with pytest.raises(ConfigError, match=r"--space \S*nope.yaml: there is no such file"):
        plan(CONFIG, "--space", str(tmp_path / "nope.yaml"))


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("val/roll/ep_rew_mean", "maximize"),
        ("val/env/regret", "minimize"),
        ("val/env/of_ones_own", "maximize"),
        ("val/best/timesteps", "minimize"),
    ],
)
def test_the_better_way_is_that_of_the_metric(name, goal):
    spec, _ = plan(CONFIG, "--metric", name)
    assert (spec.metric.name, spec.metric.goal) == (name, goal)
