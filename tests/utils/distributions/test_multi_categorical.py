from __future__ import annotations

import math

import pytest
import torch

from utils.distributions import MultiCategorical


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_logprob_and_entropy_by_hand() -> None:
    # groups 1, 3 and 1, 1, 2: probabilities 1/4, 3/4 and 1/4, 1/4, 1/2
    logits = torch.tensor([[1.0, 3.0, 1.0, 1.0, 2.0]]).log()
    ours = MultiCategorical((2, 3))
    logprob = ours.logprob((logits,), torch.tensor([[1, 2]]))
    assert logprob.item() == pytest.approx(math.log(3 / 4) + math.log(1 / 2), rel=1e-5)
    # 0.562335 + (1/4 + 1/4) log 4 + 1/2 log 2 = 0.562335 + 1.039721
    assert ours.entropy((logits,)).item() == pytest.approx(1.602056, rel=1e-5)


def test_agrees_with_torch_group_by_group() -> None:
    sizes = (4, 2, 3)
    logits = torch.randn(20, 9, generator=seeded())
    action = torch.stack([torch.randint(n, (20,), generator=seeded(n)) for n in sizes], dim=-1)
    groups = [torch.distributions.Categorical(logits=g) for g in logits.split(sizes, dim=-1)]
    ours = MultiCategorical(sizes)
    torch.testing.assert_close(
        ours.logprob((logits,), action),
        sum(group.log_prob(action[:, k]) for k, group in enumerate(groups)),
    )
    torch.testing.assert_close(ours.entropy((logits,)), sum(group.entropy() for group in groups))


def test_each_group_is_sampled_by_its_own_probabilities() -> None:
    n = 20_000
    row = torch.tensor([1.0, 3.0, 1.0, 1.0, 2.0]).log()
    action = MultiCategorical((2, 3)).sample((row.expand(n, 5),), seeded(4))
    assert action.shape == (n, 2)
    assert action.dtype == torch.int64
    table = torch.zeros(2, 3)
    table.index_put_((action[:, 0], action[:, 1]), torch.ones(n), accumulate=True)
    expected = n * torch.outer(torch.tensor([0.25, 0.75]), torch.tensor([0.25, 0.25, 0.5]))
    chi_square = ((table - expected) ** 2 / expected).sum()
    assert chi_square.item() < 25.7  # exceeded once in 10,000 with 5 degrees of freedom


def test_mode_counts_from_zero_in_each_group() -> None:
    logits = torch.tensor([[0.0, 1.0, 9.0, 0.0, 1.0], [2.0, 1.0, 0.0, 0.0, 1.0]])
    assert MultiCategorical((2, 3)).mode((logits,)).tolist() == [[1, 0], [0, 2]]


def test_gradient_reaches_every_group() -> None:
    logits = torch.zeros(1, 5, requires_grad=True)
    MultiCategorical((2, 3)).logprob((logits,), torch.tensor([[0, 1]])).sum().backward()
    # choice minus probability, group by group
    expected = torch.tensor([[0.5, -0.5, -1 / 3, 2 / 3, -1 / 3]])
    torch.testing.assert_close(logits.grad, expected)


def test_wrong_widths_are_refused() -> None:
    with pytest.raises(AssertionError):
        MultiCategorical((2, 3)).mode((torch.zeros(1, 6),))
    with pytest.raises(AssertionError):
        MultiCategorical((2, 3)).logprob((torch.zeros(1, 5),), torch.zeros(1, 3, dtype=torch.int64))


def test_describe_gives_the_probabilities_of_each_group():
    logits = torch.tensor([[0.0, math.log(3.0), 0.0, 0.0, math.log(2.0)]])  # 1 : 3 and 1 : 1 : 2
    probabilities = MultiCategorical((2, 3)).describe((logits,))["action_probabilities"]
    torch.testing.assert_close(probabilities, torch.tensor([[0.25, 0.75, 0.25, 0.25, 0.5]]))
