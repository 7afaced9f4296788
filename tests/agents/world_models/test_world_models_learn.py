"""The stage for a processor core: what is learnt in the dream holds in the real environment."""

from __future__ import annotations

import pytest

from agents import build_agent
from tests.helpers.agents import train_epochs
from utils.config import load_config

AT_RANDOM, STANDING_STILL = 17.3, 21.0
"""Mean returns of who acts evenly and of who does nothing, 200 episodes each."""


@pytest.mark.slow
def test_a_controller_that_was_evolved_in_the_dream_is_good_awake() -> None:
    pytest.importorskip("cma", reason="needs the extra evolution")
    agent = build_agent(load_config("Spotlight-v0:world_models", ["seed=0"]))
    fitness, spread = [], []
    while agent.end_reason is None:
        (row,) = train_epochs(agent, 1)
        if "train/evolve/fitness_mean" in row:
            fitness.append(row["train/evolve/fitness_mean"])
            spread.append(row["train/evolve/fitness_std"])
    # The last tenth of the generations against the spread of the first one.
    assert sum(fitness[-10:]) / 10 > fitness[0] + 2.0 * spread[0]
    result = agent.evaluate(n_episodes=100, stream="test", index=0)
    agent.close()
    assert result.mean > 2.0 * STANDING_STILL > AT_RANDOM
