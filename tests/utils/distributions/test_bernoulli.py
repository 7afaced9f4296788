from __future__ import annotations

import math

import pytest
import torch

from utils.distributions import Bernoulli


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_logprob_and_entropy_by_hand() -> None:
    # odds 1 : 1 and 3 : 1
    logits = torch.tensor([[0.0, math.log(3.0)]])
    ours = Bernoulli(2)
    assert ours.logprob((logits,), torch.tensor([[1, 1]])).item() == pytest.approx(
        math.log(1 / 2 * 3 / 4), rel=1e-5
    )
    assert ours.logprob((logits,), torch.tensor([[0, 0]])).item() == pytest.approx(
        math.log(1 / 2 * 1 / 4), rel=1e-5
    )
    # log 2 + 0.562335
    assert ours.entropy((logits,)).item() == pytest.approx(1.255482, rel=1e-5)


def test_agrees_with_torch() -> None:
    logits = 4 * torch.randn(30, 5, generator=seeded())
    action = torch.randint(2, (30, 5), generator=seeded())
    reference = torch.distributions.Bernoulli(logits=logits)
    ours = Bernoulli(5)
    torch.testing.assert_close(
        ours.logprob((logits,), action), reference.log_prob(action.float()).sum(-1)
    )
    torch.testing.assert_close(ours.entropy((logits,)), reference.entropy().sum(-1))


def test_bits_are_one_in_proportion_to_their_probability() -> None:
    n = 20_000
    probability = torch.tensor([0.5, 0.75, 0.02])
    action = Bernoulli(3).sample((probability.logit().expand(n, 3),), seeded(2))
    assert action.dtype == torch.int64
    error = (action.float().mean(0) - probability).abs()
    assert (error < 4 * (probability * (1 - probability) / n).sqrt()).all(), error


def test_mode_is_the_likelier_value() -> None:
    assert Bernoulli(3).mode((torch.tensor([[0.1, -0.1, 8.0]]),)).tolist() == [[1, 0, 1]]


def test_gradient_of_logprob_is_bit_minus_probability() -> None:
    logits = torch.tensor([[0.0, math.log(3.0)]], requires_grad=True)
    Bernoulli(2).logprob((logits,), torch.tensor([[1, 0]])).sum().backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[0.5, -0.75]]))


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    entropy = Bernoulli(2).entropy((logits,))
    logprob = Bernoulli(2).logprob((logits,), torch.tensor([[0, 0]]))
    assert entropy.item() == pytest.approx(0.0, abs=1e-6)
    assert logprob.item() == pytest.approx(-200.0)
    (entropy + logprob).sum().backward()
    assert logits.grad.isfinite().all()


def test_describe_gives_the_probability_that_each_bit_is_1():
    logits = torch.tensor([[0.0, math.log(3.0)]])  # odds 1 : 1 and 3 : 1
    probabilities = Bernoulli(2).describe((logits,))["action_probabilities"]
    torch.testing.assert_close(probabilities, torch.tensor([[0.5, 0.75]]))
