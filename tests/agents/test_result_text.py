from __future__ import annotations

from pathlib import Path

import pytest

from agents.result_text import describe_evaluation, describe_result, describe_start, run_reference
from tests.helpers.agents import make_agent
from utils.config import load_config
from utils.metrics import Counters
from utils.rollouts import EvaluationResult
from utils.run import Run
from utils.run.plan import TrainingPlan


def result(*returns: float, n_unfinished: int = 0, greedy: bool = True) -> EvaluationResult:
    return EvaluationResult(
        returns=list(returns),
        lengths=[1] * len(returns),
        n_unfinished=n_unfinished,
        seconds=1.0,
        seed=0,
        is_deterministic=greedy,
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (result(5.0, 5.0), "mean return 5.00 ± 0.00 (95 % interval, 2 fresh episodes, greedy)"),
        (result(5.0, greedy=False), "mean return 5.00 (95 % interval, 1 fresh episode, sampled)"),
        (result(n_unfinished=3), "no episode finished (3 begun, greedy)"),
    ],
)
def test_a_result_says_how_it_came_about(given, text):
    if len(given.returns) == 1:
        # One episode has no interval, so none is promised.
        assert "mean return 5.00 (" in describe_evaluation(given)
        assert "±" not in describe_evaluation(given)
        assert "sampled" in describe_evaluation(given)
    else:
        assert describe_evaluation(given) == text


def test_unfinished_episodes_are_told_of():
    assert "2 not finished in time" in describe_evaluation(result(1.0, 3.0, n_unfinished=2))


def test_the_end_of_a_run_is_told_with_what_to_do_next():
    agent = make_agent("Counting")
    agent.counters = Counters(epoch=3, timesteps=1500)
    agent.stop_reason = "max_timesteps reached"
    same = result(5.0, 5.0)
    run = Run(Path("runs/20260101-000000-Toy"))
    lines = describe_result(
        run, agent, {"best": same, "last": same}, training_seconds=2.0
    ).splitlines()
    assert lines[0] == (
        "Toy-v0:ppo: max_timesteps reached after 1,500 timesteps (3 epochs) in 2.0 s of training"
    )
    assert sum("mean return" in line for line in lines) == 1
    assert lines[-1].endswith("run_play.py --run-id 20260101-000000-Toy")
    two = {"best": result(9.0, 9.0), "last": same}
    lines = describe_result(run, agent, two, training_seconds=2.0).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["best", "last"]
    assert "9.00" in lines[1]


@pytest.mark.parametrize(
    ("n_updates", "settings", "reason"),
    [
        (0, {}, "learning begins at timestep 2,000, and the run ended at 1,000"),
        (
            0,
            {"learning_starts_timesteps": 500, "replay_ratio": 0.001},
            "replay_ratio asks for one in 1,000 timesteps from timestep 500 on, and the run ended",
        ),
        (3, {}, None),
    ],
)
def test_a_result_without_an_update_says_so(n_updates, settings, reason):
    settings = {
        "buffer_transitions": 5000,
        "learning_starts_timesteps": 2000,
        "max_timesteps": 1000,
        **settings,
    }
    agent = make_agent("Counting", algo_id="dqn", **settings)
    agent.counters = Counters(epoch=1, timesteps=1000, updates=n_updates)
    agent.stop_reason = "max_timesteps reached"
    text = describe_result(Run(Path("runs/x")), agent, {}, training_seconds=1.0)
    assert "(1 epoch) in 1.0 s" in text
    assert ("warning no update was made: " in text) == (reason is not None)
    assert reason is None or reason in text


def test_without_a_test_there_is_no_result():
    agent = make_agent("Counting")
    lines = describe_result(Run(Path("runs/x")), agent, {}, training_seconds=1.0)
    assert "mean return" not in lines


def test_a_run_is_named_so_that_it_can_be_found():
    assert run_reference(Run(Path("runs/20260101-000000-Toy"))) == "20260101-000000-Toy"
    assert run_reference(Run(Path("else/where/x"))) == "else/where/x"


def test_the_start_says_what_is_trained_on_what(tmp_path):
    agent = make_agent("Counting")
    run = Run(tmp_path / "run")
    plan = TrainingPlan(config=agent.config, runs_dir=tmp_path)
    line = describe_start(run, agent, plan)
    # 1 x 8 + 8 weights of each trunk, 8 x 2 + 2 of the actor's head, 8 + 1 of the critic's.
    assert line.startswith("Toy-v0:ppo: 2 sync environments, 59 parameters on cpu, seed 0, ")
    going_on = TrainingPlan(
        config=agent.config, runs_dir=tmp_path, resumed_run=run, checkpoint=Path("a/epoch=03.ckpt")
    )
    assert describe_start(run, agent, going_on).endswith(", going on from epoch=03.ckpt")


@pytest.mark.parametrize(
    ("config_id", "expected"),
    [
        (
            "dm_control/walker-walk:dreamer",
            "for a CPU there is dm_control/walker-walk:ppo; --set policy_kwargs.size=tiny makes",
        ),
        ("CartPole-v1:ppo_gpu", "for a CPU there is CartPole-v1:ppo, CartPole-v1:ppo_simd, "),
        ("CartPole-v1:ppo", None),
    ],
)
def test_the_start_warns_where_a_gpu_is_missing(tmp_path, config_id, expected):
    agent = make_agent("Counting")  # on the CPU
    plan = TrainingPlan(config=load_config(config_id), runs_dir=tmp_path)
    _, *more = describe_start(Run(tmp_path / "run"), agent, plan).splitlines()
    warnings = [line for line in more if line.startswith("warning: ")]
    assert len(warnings) == (expected is not None)
    for line in warnings:
        assert "this config is meant for a GPU (device: auto), and there is none" in line
        assert expected in line
        assert line.endswith("--set device=cpu says that it is meant")


def test_the_start_says_what_is_faster_on_a_cpu(tmp_path):
    for vectorization, n_notes in (("torch", 1), ("sync", 0)):
        agent = make_agent("CartPole-v1", vectorization=vectorization)
        plan = TrainingPlan(config=agent.config, runs_dir=tmp_path)
        text = describe_start(Run(tmp_path / "run"), agent, plan)
        assert text.count("on a CPU simd is the fast vectorization") == n_notes
