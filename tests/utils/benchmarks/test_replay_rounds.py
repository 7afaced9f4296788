"""Where the time of a round goes."""

from __future__ import annotations

from tests.helpers.agents import make_agent
from utils.benchmarks.replay_rounds import time_rounds


def test_rounds_are_those_of_the_config_and_the_environment_is_left_as_it_was() -> None:
    agent = make_agent(
        "Counting", algo_id="dqn", train_every_vec_steps=2, replay_ratio=0.5, max_timesteps=500
    )
    timing = time_rounds(agent, n_windows=2, n_rounds=3, n_stored=40)
    for values in timing[:5]:
        assert len(values) == 2
        assert all(value > 0 for value in values)
    # 20 vector steps of two environments are stored; then come four rounds of two vector steps,
    # and in each window six more rounds of them.
    assert agent.source.buffer.n_added == 2 * (20 + 2 * (4 + 2 * 6))
    assert timing.environment[0] < timing.collect[0]
    assert timing.peak_gib == 0
    assert not {"step", "send", "recv"} & set(vars(agent.train_env))
