from __future__ import annotations

import gymnasium as gym
import pytest
import torch

from utils.errors import ConfigError
from utils.models.critic_ensemble import CriticEnsemble
from utils.policies import Policy
from utils.policies.continuous_actor import (
    ContinuousActorSettings,
    DeterministicActor,
    SquashedNormalActor,
)

OBSERVATION = gym.spaces.Box(-1, 1, (3,))
ACTION = gym.spaces.Box(0.0, 10.0, (2, 1))
SHAPE = {"hidden_dims": (8,), "activation": "relu", "orthogonal_init": False, "feature_dim": 8}


def build(cls, **settings):
    torch.manual_seed(0)
    return cls(OBSERVATION, ACTION, ContinuousActorSettings(algorithm="sac", **(SHAPE | settings)))


@pytest.mark.parametrize("cls", [SquashedNormalActor, DeterministicActor])
def test_actors_speak_the_units_of_the_environment(cls) -> None:
    actor = build(cls)
    assert isinstance(actor, Policy)
    seen = torch.randn(7, 3) * 10
    step = actor.act(seen, deterministic=True)
    assert step.action.shape == (7, 2, 1)
    assert step.action.min() >= 0
    assert step.action.max() <= 10
    torch.testing.assert_close(actor.explain(seen)["action_mean"], step.action)
    torch.testing.assert_close(actor.export_outputs(seen)["action"], step.action)


def test_samples_scatter_about_the_greedy_action_as_the_deviation_says() -> None:
    actor = build(SquashedNormalActor)
    with torch.no_grad():
        actor.head.bias[2:] = -4.0  # small deviations, where the tangent is straight
        actor.head.weight[2:] = 0.0
        seen = torch.randn(1, 3)
        told = actor.explain(seen)
        generator = torch.Generator().manual_seed(0)
        drawn = actor.act(seen.expand(20000, 3), generator=generator).action
    torch.testing.assert_close(drawn.mean(dim=0), told["action_mean"][0], atol=0.01, rtol=0)
    torch.testing.assert_close(drawn.std(dim=0), told["action_std"][0], rtol=0.03, atol=0)


def test_deviations_stay_within_bounds() -> None:
    actor = build(SquashedNormalActor)
    with torch.no_grad():
        actor.head.bias[2], actor.head.bias[3] = 50.0, -50.0
        _, log_std = actor(torch.zeros(1, 3))
    torch.testing.assert_close(log_std, torch.tensor([[2.0, -20.0]]))


def test_a_setting_without_effect_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"feature_dim.*no picture"):
        build(SquashedNormalActor, written=frozenset({"feature_dim"}))


def test_explanations_hold_what_the_critics_say_of_the_greedy_action():
    action_space = gym.spaces.Box(-2.0, 2.0, (2,))
    critic = CriticEnsemble(
        OBSERVATION,
        n_critics=2,
        action_dim=2,
        output_dim=1,
        hidden_dims=[4],
        activation="tanh",
        feature_dim=8,
    )
    settings = ContinuousActorSettings(algorithm="sac", **SHAPE)
    observation = torch.rand(5, 3)
    for kind in (SquashedNormalActor, DeterministicActor):
        actor = kind(OBSERVATION, action_space, settings)
        names = set(actor.state_dict())
        assert "value" not in actor.explain(observation)
        actor.take_critic(critic)
        thoughts = actor.explain(observation)
        greedy = thoughts["action_mean"] / 2.0  # in [-1, 1], as critics read it
        of_each = critic(observation, greedy)
        assert of_each.shape == (2, 5)
        assert thoughts["value"].allclose(torch.minimum(of_each[0], of_each[1]))
        assert set(actor.state_dict()) == names  # it is saved as before
