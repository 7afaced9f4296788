from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from agents.ppo.ppo_gradients import has_closed_form, write_ppo_gradients
from agents.ppo.ppo_losses import (
    clipped_policy_gradient,
    clipped_policy_loss,
    value_gradient,
    value_loss,
)
from utils.policy_factory import ActorCritic, PolicySettings, build_policy

B = 64
SPACES = {
    "Discrete": gym.spaces.Discrete(3),
    "Box": gym.spaces.Box(-1, 1, (2, 2)),
    "MultiDiscrete": gym.spaces.MultiDiscrete([2, 3]),
}


def build(action: str, **changes: object) -> ActorCritic:
    torch.manual_seed(0)
    settings: dict = {
        "hidden_dims": (8, 8),
        "activation": "tanh",
        "orthogonal_init": False,
        "share_trunk": False,
        "log_std_init": -0.3,
        "feature_dim": 8,
        "normalize_obs": "none",
        "clip_obs": 10.0,
        "has_critic": True,
    } | changes
    observation_space = gym.spaces.Box(-np.inf, np.inf, (5,), np.float32)
    return build_policy(observation_space, SPACES[action], PolicySettings(**settings))


def batch(policy: ActorCritic) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    observation = torch.randn(B, 5, generator=generator)
    with torch.no_grad():
        step = policy.act(observation, generator=generator)
    return {
        "observation": observation,
        "action": step.action,
        # Far enough from the new ones that ratios leave the clip range on both sides.
        "old_logprob": step.logprob + 0.4 * torch.randn(B, generator=generator),
        "old_value": step.value + 0.3 * torch.randn(B, generator=generator),
        "advantage": torch.randn(B, generator=generator),
        "returns": step.value + torch.randn(B, generator=generator),
    }


@pytest.mark.parametrize("action", ["Discrete", "Box"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("hidden_dims", [(), (8,), (8, 8)])
@pytest.mark.parametrize("clip_range_vf", [None, 0.2])
def test_the_closed_form_is_the_gradient_of_the_losses(
    action: str, activation: str, hidden_dims: tuple[int, ...], clip_range_vf: float | None
) -> None:
    policy = build(action, activation=activation, hidden_dims=hidden_dims)
    data = batch(policy)
    hp = {"clip_range": 0.2, "vf_coef": 0.7, "ent_coef": 0.03}
    if clip_range_vf is not None:
        hp["clip_range_vf"] = clip_range_vf

    new = policy.evaluate_actions(data["observation"], data["action"])
    policy_term = clipped_policy_loss(
        logprob=new.logprob,
        old_logprob=data["old_logprob"],
        advantage=data["advantage"],
        clip_range=0.2,
    ).mean()
    value_term = value_loss(
        value=new.value,
        old_value=data["old_value"],
        returns=data["returns"],
        clip_range_vf=clip_range_vf,
    ).mean()
    (policy_term + 0.7 * value_term - 0.03 * new.entropy.mean()).backward()
    expected = [p.grad.clone() for p in policy.parameters()]
    policy.zero_grad()

    terms = write_ppo_gradients(policy, **data, hyperparameters=hp)
    for parameter, gradient in zip(policy.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=2e-7)
    found = [terms.policy, terms.value, terms.entropy, terms.logprob]
    for term, wanted in zip(
        found, [policy_term, value_term, new.entropy.mean(), new.logprob], strict=True
    ):
        torch.testing.assert_close(term, wanted.detach(), rtol=1e-5, atol=1e-6)


def test_which_policies_have_one() -> None:
    assert has_closed_form(build("Discrete"))
    assert has_closed_form(build("Box", activation="relu"))
    assert not has_closed_form(build("MultiDiscrete"))
    assert not has_closed_form(build("Discrete", activation="silu"))
    assert not has_closed_form(build("Discrete", share_trunk=True))


def test_policy_derivative_by_hand() -> None:
    # ratio 1.5, A 2: gain 3 > bound 1.2 * 2 = 2.4: clipped, loss -2.4, derivative 0
    # ratio 1.5, A -2: gain -3 < bound 0.8 * -2 = -1.6: loss 3, derivative 3
    # ratio 0.5, A 2: gain 1 < 2.4: loss -1, derivative -1
    # ratio 0.5, A -2: gain -1 > -1.6: clipped, loss 1.6, derivative 0
    loss, derivative = clipped_policy_gradient(
        logprob=torch.tensor([1.5, 1.5, 0.5, 0.5]).log(),
        old_logprob=torch.zeros(4),
        advantage=torch.tensor([2.0, -2.0, 2.0, -2.0]),
        clip_range=0.2,
    )
    torch.testing.assert_close(loss, torch.tensor([-2.4, 3.0, -1.0, 1.6]))
    torch.testing.assert_close(derivative, torch.tensor([0.0, 3.0, -1.0, 0.0]))


def test_value_derivative_by_hand() -> None:
    # old 0, clip 0.5. value 2, return 1: error 1, clipped 0.5 - 1 = -0.5: free, loss 1, 2 * 1
    # value 2, return 3: error -1, clipped 0.5 - 3 = -2.5: outside the range, loss 6.25, 0
    # value 0.25, return 1: error -0.75 both: loss 0.5625, derivative -1.5
    loss, derivative = value_gradient(
        value=torch.tensor([2.0, 2.0, 0.25]),
        old_value=torch.zeros(3),
        returns=torch.tensor([1.0, 3.0, 1.0]),
        clip_range_vf=0.5,
    )
    torch.testing.assert_close(loss, torch.tensor([1.0, 6.25, 0.5625]))
    torch.testing.assert_close(derivative, torch.tensor([2.0, 0.0, -1.5]))
