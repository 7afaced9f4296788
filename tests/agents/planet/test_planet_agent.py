"""PlaNet learns a model and nothing else, and acts by what it plans."""

from __future__ import annotations

import pytest
import torch

from tests.helpers.agents import train_epochs
from tests.helpers.sequence_agents import ECHO, fill, learn_once, make_planet
from utils.errors import ConfigError


def test_an_update_teaches_the_world_model_alone() -> None:
    agent = make_planet(free_nats=0.0)  # below them nothing teaches the prior
    fill(agent)
    before = {name: p.detach().clone() for name, p in agent.policy.named_parameters()}
    metrics = learn_once(agent)
    assert {"train/loss/reward", "train/loss/vector", "train/grad/world_model"} <= metrics.keys()
    assert not any("actor" in key or "continue" in key for key in metrics)
    assert all(name.startswith("world_model.") for name in before)
    changed = {n for n, p in agent.policy.named_parameters() if not torch.equal(before[n], p)}
    assert changed == before.keys()


def test_it_can_learn_how_likely_it_goes_on() -> None:
    agent = make_planet(predict_end=True)
    fill(agent)
    assert learn_once(agent)["train/loss/continue"] > 0


def test_noise_is_for_training_alone() -> None:
    def decide(noise):
        agent = make_planet(exploration_noise=noise)
        fill(agent)
        explorer = agent.source.collector.explorer
        seen, state = torch.ones(64, 3), agent.policy.initial_state(64)
        return explorer.decide(seen, mask=None, timesteps=0, state=state)

    noisy, plain = decide(0.3).stored, decide(0.0).stored  # the same plans
    assert noisy.abs().max() <= 1
    added = (noisy - plain)[noisy.abs() < 1]
    assert 0.15 < added.std() < 0.4
    # The environment and the memory are given what was done, noise included.
    decision = decide(0.3)
    torch.testing.assert_close(decision.action, 2.0 * decision.stored)
    assert torch.equal(decision.state[:, -1:], decision.stored)


def test_it_says_how_it_plans() -> None:
    agent = make_planet()
    assert agent.describe_learning()[-1] == "plans: 3 steps ahead, 2 times the best 3 of 8"


def test_choices_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        make_planet(ECHO)
    assert str(caught.value) == (
        "planet plans actions of a Box, and the action space is Discrete(4): use dreamer"
    )


def test_the_first_updates_follow_the_random_steps() -> None:
    agent = make_planet(learning_starts_timesteps=20)
    train_epochs(agent, 2)
    assert agent.counters.timesteps == 40
    assert agent.counters.updates == 20
