from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.planning import Bounds, Plan, bounds_of, first_plan, shift_plan
from utils.planning.plan import draw_candidates, pick_candidates

BOUNDS = Bounds(torch.tensor([-1.0, 0.0]), torch.tensor([3.0, 1.0]))


def test_bounds_of_a_box() -> None:
    low, high = bounds_of(gym.spaces.Box(*np.array([[[-2], [0]], [[2], [1]]], dtype=np.float32)))
    torch.testing.assert_close(low, torch.tensor([-2.0, 0.0]))
    torch.testing.assert_close(high, torch.tensor([2.0, 1.0]))


def test_choices_and_boundless_actions_are_refused() -> None:
    with pytest.raises(AssertionError, match="not of choices"):
        bounds_of(gym.spaces.Discrete(3))
    with pytest.raises(AssertionError, match="with bounds"):
        bounds_of(gym.spaces.Box(-np.inf, np.inf, (2,)))


def test_a_first_plan_reaches_to_the_bounds() -> None:
    plan = first_plan(BOUNDS, n_steps=4, n=3)
    assert plan.mean.shape == plan.std.shape == (4, 3, 2)
    torch.testing.assert_close(plan.mean[2, 1], torch.tensor([1.0, 0.5]))
    torch.testing.assert_close(plan.std[2, 1], torch.tensor([2.0, 0.5]))
    assert torch.equal(plan.action, plan.mean[0])


def test_a_plan_is_kept_for_the_next_step_but_not_for_the_next_episode() -> None:
    mean = torch.arange(12.0).view(3, 2, 2)
    plan = Plan(mean, torch.full((3, 2, 2), 0.01))
    shifted = shift_plan(plan, BOUNDS, is_first=torch.tensor([False, True]))
    torch.testing.assert_close(shifted.mean[:2, 0], mean[1:, 0])
    torch.testing.assert_close(shifted.mean[2, 0], torch.tensor([1.0, 0.5]))
    fresh = first_plan(BOUNDS, n_steps=3, n=2)
    assert torch.equal(shifted.mean[:, 1], fresh.mean[:, 1])
    assert torch.equal(shifted.std, fresh.std)


def test_candidates_by_hand() -> None:
    # 1 + 2 * (0.5, -2): 2 and -3, cut at -1; 0.5 + 0.5 * (3, -0.5): 2, cut at 1, and 0.25
    plan = first_plan(BOUNDS, n_steps=1, n=1)
    noise = torch.tensor([[[[0.5, 3.0], [-2.0, -0.5]]]])
    candidates = draw_candidates(plan, noise, BOUNDS)
    torch.testing.assert_close(candidates, torch.tensor([[[[2.0, 1.0], [-1.0, 0.25]]]]))


def test_each_environment_picks_its_own() -> None:
    candidates = torch.arange(24.0).view(2, 2, 3, 2)
    picked = pick_candidates(candidates, torch.tensor([[2, 0], [1, 1]]))
    assert picked.shape == (2, 2, 2, 2)
    assert torch.equal(picked[1, 0], candidates[1, 0, [2, 0]])
    assert torch.equal(picked[0, 1], candidates[0, 1, [1, 1]])
