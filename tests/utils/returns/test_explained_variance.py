from __future__ import annotations

import pytest
import torch

from utils.returns import explained_variance


def test_hand_computed_number() -> None:
    returns = torch.tensor([1.0, 2.0, 3.0, 6.0])
    value = torch.tensor([1.0, 3.0, 3.0, 5.0])
    # Var(returns): mean 3, (4 + 1 + 0 + 9) / 4 = 3.5
    # returns - value = 0, -1, 0, 1: variance 2 / 4 = 0.5;  1 - 0.5 / 3.5 = 6 / 7
    assert explained_variance(value=value, returns=returns).item() == pytest.approx(6 / 7, rel=1e-6)


def test_perfect_constant_and_harmful_critics() -> None:
    returns = torch.tensor([[1.0, -1.0], [3.0, 5.0]])
    assert explained_variance(value=returns, returns=returns).item() == 1.0
    constant = torch.full_like(returns, 40.0)
    assert explained_variance(value=constant, returns=returns).item() == pytest.approx(0, abs=1e-6)
    # The residual of the negated returns is twice the returns: variance times 4, 1 - 4 = -3
    assert explained_variance(value=-returns, returns=returns).item() == pytest.approx(-3, rel=1e-6)


def test_a_constant_offset_of_the_critic_does_not_matter() -> None:
    returns = torch.tensor([1.0, 2.0, 4.0])
    assert explained_variance(value=returns + 5, returns=returns).item() == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0.0, 0.1, 7.7, 100.1, -12345.6])
@pytest.mark.parametrize("n", [1, 7, 1000, 2048])
def test_undefined_where_the_returns_do_not_vary(value: float, n: int) -> None:
    critic = torch.linspace(0, 1, n)
    assert explained_variance(value=critic, returns=torch.full((n,), value)).isnan()


def test_small_but_real_variation_is_explained() -> None:
    returns = 1.0 + 1e-4 * torch.linspace(-1, 1, 50)
    assert explained_variance(value=returns, returns=returns).item() == 1.0
