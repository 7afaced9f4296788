"""What is learnt from demonstrations of two ways: one of them by diffusion, neither by cloning."""

from __future__ import annotations

import pytest

from agents import build_agent
from agents.imitation_agent import ImitationAgent
from tests.helpers.agents import train_epochs
from utils.config import load_config


def learn(config_id: str, *overrides: str) -> ImitationAgent:
    agent = build_agent(load_config(config_id, list(overrides)))
    while agent.end_reason is None:
        train_epochs(agent, 1)
    return agent  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "seed", "least"),
    [
        ("diffusion", 0, 0.95),
        ("diffusion", 1, 0.95),
        ("diffusion_transformer", 0, 0.9),
        ("diffusion_vision", 0, 0.9),
    ],
)
def test_diffusion_goes_both_ways(variant: str, seed: int, least: float) -> None:
    pytest.importorskip("diffusers")
    agent = learn(f"Obstacle-v0:{variant}", f"seed={seed}")
    result = agent.evaluate(n_episodes=200)
    agent.close()
    assert result.mean >= least  # who does not look has 0
    assert 0.3 <= result.metrics["went_left"] <= 0.7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "timesteps"), [("diffusion", 2560), ("diffusion_vision", 16_000)]
)
def test_the_acting_weights_of_a_short_training_do_not_yet_know_the_way(variant, timesteps) -> None:
    """So the threshold above is out of reach of what learns nothing."""
    pytest.importorskip("diffusers")
    agent = learn(f"Obstacle-v0:{variant}", f"max_timesteps={timesteps}")
    assert agent.evaluate(n_episodes=100).mean < 0.5
    agent.close()


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "most"), [("bc", 0.25), ("bc_vision", 0.5)])
def test_the_mean_of_both_ways_leads_into_the_disk(variant, most) -> None:
    agent = learn(f"Obstacle-v0:{variant}")
    data = agent.demonstrations
    assert float(data.returns.mean()) == 1.0
    assert agent.evaluate(n_episodes=100).mean <= most
    agent.close()


@pytest.mark.slow
def test_one_way_is_cloned() -> None:
    """The same network on the demonstrations of those alone who went left."""
    agent = build_agent(load_config("Obstacle-v0:bc", ["updates_per_epoch=1000"]))
    windows, data = agent.source.windows, agent.demonstrations
    episode = (windows.steps.unsqueeze(1) >= data.start[1:]).sum(dim=1)
    first_x = data.action[data.start[:-1], 0]
    windows.steps = windows.steps[first_x[episode] < 0]
    agent.source._sampler._n_windows = len(windows.steps)
    train_epochs(agent, 1)
    result = agent.evaluate(n_episodes=100)
    agent.close()
    assert result.mean >= 0.9
    assert result.metrics["went_left"] == 1.0
