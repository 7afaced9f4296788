"""What policies say of themselves agrees with what they do."""

from __future__ import annotations

import math

import pytest
import torch
from gymnasium import spaces

from utils.policy_factory import PolicySettings, build_policy

OBSERVATION = spaces.Box(-1.0, 1.0, (3,))
ACTIONS = {
    "discrete": spaces.Discrete(3),
    "multi_discrete": spaces.MultiDiscrete([2, 3]),
    "multi_binary": spaces.MultiBinary(4),
    "box": spaces.Box(-1.0, 1.0, (2, 2)),
}


def build(acts: str, **changes):
    settings = {
        "hidden_dims": (8,),
        "activation": "tanh",
        "orthogonal_init": True,
        "share_trunk": False,
        "log_std_init": 0.0,
        "feature_dim": 8,
        "normalize_obs": "none",
        "clip_obs": 10.0,
        "has_critic": True,
    }
    torch.manual_seed(0)
    policy = build_policy(OBSERVATION, ACTIONS[acts], PolicySettings(**(settings | changes)))
    with torch.no_grad():  # away from the uniform policy of the start
        for parameter in policy.actor_head.parameters():
            parameter.normal_()
    return policy


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("acts", list(ACTIONS))
@torch.no_grad()
def test_thoughts_are_those_of_the_acting_policy(acts: str, memory: str) -> None:
    policy = build(acts, memory=memory, memory_dim=4)
    observation = torch.randn(5, 3)
    state = policy.initial_state(5)
    before = None if state is None else state.normal_().clone()
    random_state = torch.get_rng_state()
    thoughts = policy.explain(observation, state=state)
    assert torch.equal(torch.get_rng_state(), random_state)
    step = policy.act(observation, state=state, deterministic=True)
    assert torch.equal(thoughts["value"], step.value)
    if state is not None:
        assert torch.equal(state, before)
    assert torch.allclose(_logprob(acts, thoughts, step.action), step.logprob, atol=1e-5)


def _logprob(acts: str, thoughts: dict, action: torch.Tensor) -> torch.Tensor:
    """Work out the log-probability of an action from the names that people read."""
    if acts == "box":
        mean, std = thoughts["action_mean"], thoughts["action_std"]
        assert mean.shape == action.shape
        return torch.distributions.Normal(mean, std).log_prob(action).flatten(1).sum(1)
    share = thoughts["action_probabilities"]
    if acts == "multi_binary":
        return torch.where(action == 1, share, 1 - share).log().sum(1)
    if acts == "discrete":
        return share.gather(1, action.unsqueeze(1)).squeeze(1).log()
    first = share[:, :2].gather(1, action[:, :1])
    second = share[:, 2:].gather(1, action[:, 1:])
    return (first * second).squeeze(1).log()


@torch.no_grad()
def test_entropy_and_masked_choices() -> None:
    policy = build("discrete", action_masks=True)
    policy.actor_head.weight.zero_()
    policy.actor_head.bias.zero_()
    mask = torch.tensor([[True, True, False], [False, True, False]])
    thoughts = policy.explain(torch.zeros(2, 3), mask=mask)
    assert thoughts["action_probabilities"].tolist() == [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
    assert thoughts["entropy"].tolist() == pytest.approx([math.log(2), 0.0])


def test_without_a_critic_there_is_no_value() -> None:
    assert "value" not in build("discrete", has_critic=False).explain(torch.zeros(1, 3))
