from __future__ import annotations

import gymnasium as gym
import pytest
import torch

from utils.policies.continuous_actor import (
    ContinuousActorSettings,
    DeterministicActor,
    SquashedNormalActor,
)
from utils.rollouts.continuous_exploration import ContinuousExplorer

OBSERVATION = gym.spaces.Box(-1, 1, (3,))
ACTION = gym.spaces.Box(0.0, 10.0, (2,))
SETTINGS = ContinuousActorSettings(
    algorithm="sac", hidden_dims=(8,), activation="relu", orthogonal_init=False, feature_dim=8
)


def build(cls=SquashedNormalActor, **settings) -> ContinuousExplorer:
    torch.manual_seed(0)
    return ContinuousExplorer(cls(OBSERVATION, ACTION, SETTINGS), seed=1, **settings)


def test_the_buffer_gets_units_and_the_environment_its_own() -> None:
    explorer = build()
    for decision in (
        explorer.draw(500, mask=None),
        explorer.decide(torch.randn(500, 3), mask=None, timesteps=0),
    ):
        assert decision.stored.shape == decision.action.shape == (500, 2)
        assert decision.stored.abs().max() <= 1
        torch.testing.assert_close(decision.action, 5.0 + 5.0 * decision.stored)


def test_a_warm_up_draws_evenly_also_when_its_draws_last() -> None:
    explorer = build(correlation=0.9)
    drawn = torch.cat([explorer.draw(2000, mask=None).stored for _ in range(5)]).flatten()
    shares = torch.histc(drawn, bins=4, min=-1, max=1) / len(drawn)
    torch.testing.assert_close(shares, torch.full((4,), 0.25), atol=0.02, rtol=0)


def test_noise_lasts_as_long_as_it_is_told_to_and_keeps_its_size() -> None:
    explorer = build(correlation=0.8)
    draws = torch.stack([torch.erfinv(explorer.draw(4000, mask=None).stored) for _ in range(3)])
    noise = draws.flatten(1) * 2**0.5
    torch.testing.assert_close(noise.std(dim=1), torch.ones(3), atol=0.03, rtol=0)
    assert torch.corrcoef(noise)[0, 1].item() == pytest.approx(0.8, abs=0.02)
    assert torch.corrcoef(noise)[0, 2].item() == pytest.approx(0.64, abs=0.02)


def test_a_deterministic_actor_gets_noise_of_the_size_of_the_day() -> None:
    explorer = build(DeterministicActor, noise=lambda timesteps: 0.0 if timesteps else 0.3)
    seen = torch.randn(4000, 3)
    plain = explorer.decide(seen, mask=None, timesteps=1).stored
    with torch.no_grad():
        torch.testing.assert_close(plain, explorer._actor(seen))
    noisy = explorer.decide(seen, mask=None, timesteps=0).stored
    assert noisy.abs().max() <= 1
    assert (noisy - plain).std().item() == pytest.approx(0.3, abs=0.02)


def test_a_restored_explorer_goes_on_as_it_would_have() -> None:
    first, second = build(correlation=0.5), build(correlation=0.5)
    seen = torch.randn(6, 3)
    first.decide(seen, mask=None, timesteps=0)
    second.load_state_dict(first.state_dict())
    for explorer_call in (
        lambda e: e.decide(seen, mask=None, timesteps=0),
        lambda e: e.draw(6, mask=None),
    ):
        torch.testing.assert_close(
            explorer_call(first).stored, explorer_call(second).stored, rtol=0, atol=0
        )
