from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.policies import Policy
from utils.policies.random_policy import RandomPolicy

N = 4000
OBSERVATION = torch.zeros(N, 3)


def act(space: gym.Space, **options):
    policy = RandomPolicy(space, action_masks="mask" in options)
    assert isinstance(policy, Policy)
    return policy.act(OBSERVATION, generator=torch.Generator().manual_seed(0), **options)


def test_choices_are_even() -> None:
    step = act(gym.spaces.Discrete(4, start=3))
    assert step.action.shape == (N,)  # counted from 0, as all policies do
    assert torch.bincount(step.action).tolist() == pytest.approx([1000] * 4, abs=110)
    torch.testing.assert_close(step.logprob, torch.full((N,), 0.25).log())


def test_parts_are_drawn_by_themselves() -> None:
    step = act(gym.spaces.MultiDiscrete([2, 3]))
    assert step.action.shape == (N, 2)
    pairs = step.action[:, 0] * 3 + step.action[:, 1]
    assert torch.bincount(pairs).tolist() == pytest.approx([667] * 6, abs=100)
    assert act(gym.spaces.MultiBinary(5)).action.shape == (N, 5)


def test_a_box_is_filled_evenly() -> None:
    low, high = np.array([-1.0, 10.0], np.float32), np.array([1.0, 30.0], np.float32)
    step = act(gym.spaces.Box(low, high))
    assert step.action.min(0).values.tolist() == pytest.approx([-1.0, 10.0], abs=0.05)
    assert step.action.mean(0).tolist() == pytest.approx([0.0, 20.0], abs=0.4)
    # The density is 1 / (2 * 20).
    torch.testing.assert_close(step.logprob, torch.full((N,), 1 / 40).log())


def test_forbidden_choices_are_never_drawn() -> None:
    mask = torch.tensor([True, False, True]).expand(N, 3)
    assert set(act(gym.spaces.Discrete(3), mask=mask).action.tolist()) == {0, 2}
    mask = torch.tensor([True, False, False, False, True]).expand(N, 5)
    assert act(gym.spaces.MultiDiscrete([2, 3]), mask=mask).action.unique(dim=0).tolist() == [
        [0, 2]
    ]
    mask = torch.tensor([True, False]).expand(N, 2)
    assert act(gym.spaces.MultiBinary(2), mask=mask).action.unique(dim=0).tolist() == [
        [0, 0],
        [1, 0],
    ]


def test_being_greedy_changes_nothing() -> None:
    space = gym.spaces.Discrete(4)
    assert torch.equal(act(space).action, act(space, deterministic=True).action)


def test_what_cannot_be_drawn_is_refused() -> None:
    for most in (np.inf, np.finfo(np.float32).max):
        endless = gym.spaces.Box(-most, most, (2,), np.float32)
        with pytest.raises(ConfigError, match="let a wrapper bound them"):
            RandomPolicy(endless, action_masks=False)
    with pytest.raises(ConfigError, match="'action_masks' has no effect"):
        RandomPolicy(gym.spaces.Box(0, 1, (2,), np.float32), action_masks=True)


def test_what_it_explains_are_equal_shares_of_what_is_allowed():
    observation = torch.zeros(2, 3)
    discrete = RandomPolicy(gym.spaces.Discrete(4), action_masks=True)
    mask = torch.tensor([[True] * 4, [True, False, True, False]])
    shares = discrete.explain(observation, mask=mask)["action_probabilities"]
    assert shares.tolist() == [[0.25] * 4, [0.5, 0.0, 0.5, 0.0]]
    pair = RandomPolicy(gym.spaces.MultiDiscrete([2, 4]), action_masks=False)
    shares = pair.explain(observation)["action_probabilities"]
    assert shares[0].tolist() == [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    bits = RandomPolicy(gym.spaces.MultiBinary(2), action_masks=False)
    assert bits.explain(observation)["action_probabilities"].tolist() == [[0.5, 0.5]] * 2
    assert RandomPolicy(gym.spaces.Box(-1, 1, (2,)), action_masks=False).explain(observation) == {}
