"""A policy trains with Brax for a moment, and every tool opens it."""

import json

import pytest

from agents import build_agent
from agents.loading import load_policy
from utils.brax_policies.cli import parse_eval_args, parse_train_args
from utils.brax_policies.evaluation import judge_run, open_run
from utils.brax_policies.training import train_with_brax
from utils.errors import ConfigError, MissingDependencyError, UserError


def arguments(tmp_path, *more):
    small = ["--timesteps=2000", "--n-envs=8", "--minibatches=2", "--evaluations=2"]
    return parse_train_args(
        ["inverted_pendulum", *small, "--eval-envs=2", f"--runs-dir={tmp_path}", *more]
    )


@pytest.mark.slow
def test_trained_stored_judged(tmp_path):
    pytest.importorskip("brax")
    told = []
    trained = train_with_brax(arguments(tmp_path, "--episode-steps=50"), tell=told.append)
    assert len(told) == 3  # what is trained, and two evaluations
    run, config = open_run("@last", tmp_path)
    assert run.id == trained.run.id
    assert run.read_status()["status"] == "completed"
    assert "brax 0" in config.trained_with
    assert run.metrics_csv.read_text().startswith("epoch,timesteps,val/roll/ep_rew_mean")
    result = judge_run(run, config, load_policy, parse_eval_args(["--episodes=2"]))
    assert result.n_unfinished == 0
    results = json.loads(run.results_path.read_text())
    assert results["test"]["best"]["returns"] == list(result.returns)
    assert results["training_seconds"] == trained.seconds > 0.0
    with pytest.raises(ConfigError, match=r"brax_train_policy.py brax/inverted_pendulum"):
        build_agent(config)


def test_without_brax_nothing_is_left(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "brax", None)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[brax\]"):
        train_with_brax(arguments(tmp_path), tell=print)
    assert not list(tmp_path.iterdir())


def test_runs_of_others_are_refused(tmp_path):
    from tests.helpers.played_runs import make_config, make_run

    make_run(tmp_path, make_config())
    with pytest.raises(UserError, match="is of ppo, not of Brax"):
        open_run("@last", tmp_path)
