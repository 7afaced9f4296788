"""Draws and returns of dreams by a kernel against torch's operations one by one."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.fused_steps import fused_steps, noted_launches
from tests.helpers.triton_device import DEVICE
from utils.world_models.actions import ActionCode
from utils.world_models.returns import lambda_returns


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


@pytest.mark.parametrize("n_actions", [1, 6])
def test_actions_are_those_of_the_distribution(n_actions: int) -> None:
    space = gym.spaces.Box(-1.0, 1.0, (n_actions,), np.float32)
    code = ActionCode(space, box="bounded_normal", algorithm="dreamer")
    parameters = code.parameters_of(3.0 * draw(50, 2 * n_actions))
    actions = []
    for are_used in (True, False):
        with fused_steps(are_used=are_used):
            actions.append(code.draw(parameters, torch.Generator(DEVICE).manual_seed(1)))
    torch.testing.assert_close(actions[0], actions[1], rtol=1e-5, atol=1e-6)


def test_actions_with_gradients_and_of_other_kinds_are_drawn_by_torch() -> None:
    space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    generator = torch.Generator(DEVICE)
    for box in ("bounded_normal", "tanh_normal"):
        code = ActionCode(space, box=box, algorithm="dreamer")
        parameters = code.parameters_of(draw(3, 4).requires_grad_())
        with fused_steps(are_used=True):
            assert code.draw(parameters, generator).requires_grad
    choice = ActionCode(gym.spaces.Discrete(3), box="tanh_normal", algorithm="dreamer")
    with fused_steps(are_used=True):
        drawn = choice.draw(choice.parameters_of(draw(3, 3)), generator)
    assert drawn.shape == (3,)


@pytest.mark.parametrize(("n_steps", "n"), [(1, 1), (7, 3), (16, 40), (63, 5)])
@pytest.mark.parametrize("cuts", [False, True])
def test_returns_are_those_of_the_loop(n_steps: int, n: int, cuts: bool) -> None:
    parts = {
        name: draw(n_steps, n, seed=seed)
        for seed, name in enumerate(("reward", "discount", "next_value"))
    }
    parts["discount"] = parts["discount"].sigmoid()
    trace = (draw(n_steps, n, seed=9) > 0.0).float() * 0.95 if cuts else 0.95
    with fused_steps(are_used=True), noted_launches() as names:
        mine = lambda_returns(**parts, trace=trace)
    assert names == ["returns_kernel"]
    with fused_steps(are_used=False):
        theirs = lambda_returns(**parts, trace=trace)
    torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


def test_returns_by_hand() -> None:
    # R[1] = 2 + 0.5 * 4 = 4; R[0] = 1 + 0.5 * (0.25 * 8 + 0.75 * 4) = 3.5.
    reward, value = (torch.tensor([[a], [b]], device=DEVICE) for a, b in ((1.0, 2.0), (8.0, 4.0)))
    with fused_steps(are_used=True):
        returns = lambda_returns(
            reward=reward, discount=torch.full_like(reward, 0.5), next_value=value, trace=0.75
        )
    assert returns.flatten().tolist() == [3.5, 4.0]


def test_returns_with_gradients_are_those_of_the_loop() -> None:
    reward = draw(3, 2).requires_grad_()
    discount = torch.full((3, 2), 0.5, device=DEVICE)
    with fused_steps(are_used=True):
        returns = lambda_returns(
            reward=reward, discount=discount, next_value=draw(3, 2, seed=1), trace=0.9
        )
    assert returns.requires_grad
