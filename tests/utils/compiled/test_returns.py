"""The compiled pass against the one that is written as tensors."""

from __future__ import annotations

import pytest
import torch

from utils.compiled.returns import compiled_generalized_advantage
from utils.returns import generalized_advantage


@pytest.mark.parametrize(("n_steps", "n_envs"), [(1, 1), (1, 40), (32, 8), (7, 100)])
def test_it_is_the_reference(n_steps, n_envs):
    torch.manual_seed(n_steps + n_envs)
    shape = (n_steps, n_envs)
    terminated = torch.rand(shape) < 0.15
    truncated = (torch.rand(shape) < 0.15) & ~terminated
    given = {name: torch.randn(shape) for name in ("reward", "value", "next_value")}
    discounts = {"gamma": 0.97, "gae_lambda": 0.8}
    expected = generalized_advantage(
        **given, terminated=terminated, done=terminated | truncated, **discounts
    )
    computed = compiled_generalized_advantage(
        **given, terminated=terminated, done=terminated | truncated, **discounts
    )
    for a, b in zip(computed, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_what_follows_the_end_of_the_world_is_not_looked_at():
    """A next value that is not a number behind a termination does no harm."""
    one = torch.ones(1, 1)
    advantage, returns = compiled_generalized_advantage(
        reward=one,
        value=0.25 * one,
        next_value=float("nan") * one,
        terminated=torch.ones(1, 1, dtype=torch.bool),
        done=torch.ones(1, 1, dtype=torch.bool),
        gamma=0.9,
        gae_lambda=0.9,
    )
    assert (float(advantage), float(returns)) == (0.75, 1.0)  # 1 - 0.25
