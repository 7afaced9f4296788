from __future__ import annotations

import math

import pytest
import torch

from utils.distributions import Bernoulli, Categorical, MultiCategorical, mask_parameters


def test_a_categorical_over_what_is_allowed_by_hand() -> None:
    logits = torch.tensor([[math.log(1.0), math.log(2.0), math.log(6.0), 50.0]])
    masked = mask_parameters((logits,), torch.tensor([[True, False, True, False]]))
    distribution = Categorical(4)
    # the probabilities are 1/7, none, 6/7 and none
    assert distribution.logprob(masked, torch.tensor([2])).item() == pytest.approx(math.log(6 / 7))
    entropy = -(1 / 7 * math.log(1 / 7) + 6 / 7 * math.log(6 / 7))
    assert distribution.entropy(masked).item() == pytest.approx(entropy, rel=1e-6)
    assert distribution.mode(masked).item() == 2
    drawn = distribution.sample((masked[0].expand(70_000, 4),), torch.Generator().manual_seed(0))
    assert drawn.unique().tolist() == [0, 2]
    assert (drawn == 2).float().mean().item() == pytest.approx(6 / 7, abs=0.005)


def test_parts_of_a_multi_categorical_are_masked_each_for_itself() -> None:
    masked = mask_parameters((torch.zeros(1, 5),), torch.tensor([[True, True, False, False, True]]))
    distribution = MultiCategorical((3, 2))
    assert distribution.entropy(masked).item() == pytest.approx(math.log(2), rel=1e-6)
    assert distribution.mode(masked)[0, 1].item() == 1
    assert distribution.logprob(masked, torch.tensor([[1, 1]])).item() == pytest.approx(
        -math.log(2)
    )


def test_a_forbidden_bit_is_zero() -> None:
    masked = mask_parameters((torch.full((1, 2), 9.0),), torch.tensor([[True, False]]))
    distribution = Bernoulli(2)
    assert distribution.mode(masked).tolist() == [[1, 0]]
    p = 1 / (1 + math.exp(-9.0))
    assert distribution.logprob(masked, torch.tensor([[1, 0]])).item() == pytest.approx(math.log(p))
    entropy = -(p * math.log(p) + (1 - p) * math.log(1 - p))
    assert distribution.entropy(masked).item() == pytest.approx(entropy, rel=1e-4)
    drawn = distribution.sample((masked[0].expand(1000, 2),), torch.Generator().manual_seed(0))
    assert drawn[:, 1].sum() == 0


@pytest.mark.parametrize("distribution", [Categorical(4), MultiCategorical((2, 2)), Bernoulli(4)])
def test_nothing_flows_to_forbidden_choices_and_all_is_finite(distribution) -> None:
    logits = (10 * torch.randn(16, 4, generator=torch.Generator().manual_seed(1))).requires_grad_()
    mask = torch.tensor([True, False, True, False]).expand(16, 4)
    parameters = mask_parameters((logits,), mask)
    action = distribution.mode(parameters)
    logprob, entropy = distribution.logprob_and_entropy(parameters, action)
    (logprob.sum() + entropy.sum()).backward()
    assert logits.grad.isfinite().all()
    assert logits.grad[:, 1].abs().max() == logits.grad[:, 3].abs().max() == 0
    assert entropy.isfinite().all()
    assert entropy.min() >= 0


def test_only_one_choice_is_certain() -> None:
    parameters = mask_parameters((torch.randn(3, 4),), torch.eye(4, dtype=torch.bool)[:3])
    logprob, entropy = Categorical(4).logprob_and_entropy(parameters, torch.arange(3))
    assert logprob.tolist() == [0.0] * 3
    assert entropy.tolist() == [0.0] * 3
