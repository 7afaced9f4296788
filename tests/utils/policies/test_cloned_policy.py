from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from utils.policies import Policy
from utils.policies.cloned_policy import ClonedPolicy
from utils.policy_factory import PolicySettings, build_policy

SPACE = spaces.Box(-1, 1, (3,), np.float32)
BOX = spaces.Box(-5, 5, (2,), np.float32)


def build(actions: spaces.Space = BOX, *, draws: bool = True) -> ClonedPolicy:
    torch.manual_seed(0)
    settings = PolicySettings(
        hidden_dims=(8,),
        activation="relu",
        orthogonal_init=True,
        share_trunk=True,
        log_std_init=0.0,
        feature_dim=8,
        normalize_obs="none",
        clip_obs=10.0,
        has_critic=False,
    )
    policy = ClonedPolicy(build_policy(SPACE, actions, settings), SPACE, actions, draws=draws)
    if policy.action_scale is not None:
        policy.action_scale.fit_(torch.tensor([[0.0, -1.0], [10.0, 3.0]]))
    return policy


def test_it_is_a_policy() -> None:
    assert isinstance(build(), Policy)


def test_numbers_are_in_the_units_of_the_demonstrations() -> None:
    policy, observation = build(), torch.rand((4, 3))
    of_actor = policy.actor.act(observation, deterministic=True).action
    expected = of_actor * torch.tensor([5.0, 2.0]) + torch.tensor([5.0, 1.0])
    step = policy.act(observation, deterministic=True)
    torch.testing.assert_close(step.action, expected)
    told = policy.explain(observation)
    torch.testing.assert_close(told["action_mean"], expected)
    torch.testing.assert_close(told["action_std"], torch.tensor([5.0, 2.0]).expand(4, 2))
    torch.testing.assert_close(policy.export_outputs(observation)["action"], expected)


def test_who_clones_one_action_never_draws() -> None:
    policy, observation = build(draws=False), torch.rand((4, 3))
    sampled = policy.act(observation, generator=torch.Generator().manual_seed(0)).action
    assert torch.equal(sampled, policy.act(observation, deterministic=True).action)
    assert set(policy.explain(observation)) == {"action_mean"}
    assert policy.action_std() is None
    drawing = build(draws=True)
    drawn = drawing.act(observation, generator=torch.Generator().manual_seed(0)).action
    assert not torch.equal(drawn, drawing.act(observation, deterministic=True).action)


@pytest.mark.parametrize(
    "actions", [spaces.Discrete(3), spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(2)]
)
def test_choices_stay_choices(actions: spaces.Space) -> None:
    policy, observation = build(actions), torch.rand((4, 3))
    action = policy.act(observation, deterministic=True).action
    assert action.dtype == torch.int64
    assert torch.equal(action, policy.mode(observation))
    assert "action_probabilities" in policy.explain(observation)
