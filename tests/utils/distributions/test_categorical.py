from __future__ import annotations

import math

import pytest
import torch

from utils.distributions import Categorical


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_logprob_by_hand() -> None:
    # exp(logits) = 1, 2, 5: probabilities 1/8, 2/8, 5/8, whatever is added to the logits
    logits = torch.tensor([1.0, 2.0, 5.0]).log().expand(3, 3) + torch.tensor([[0.0], [9.0], [-4.0]])
    logprob = Categorical(3).logprob((logits,), torch.tensor([0, 1, 2]))
    expected = torch.tensor([math.log(1 / 8), math.log(2 / 8), math.log(5 / 8)])
    torch.testing.assert_close(logprob, expected, rtol=1e-5, atol=1e-6)


def test_entropy_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [math.log(3.0), 0.0, -math.inf, -math.inf]])
    # log 4;  -(3/4 log 3/4 + 1/4 log 1/4) = 0.562335
    torch.testing.assert_close(
        Categorical(4).entropy((logits,)), torch.tensor([math.log(4.0), 0.562335])
    )


def test_agrees_with_torch() -> None:
    logits = 3 * torch.randn(50, 6, generator=seeded())
    action = torch.randint(6, (50,), generator=seeded())
    reference = torch.distributions.Categorical(logits=logits)
    ours = Categorical(6)
    torch.testing.assert_close(ours.logprob((logits,), action), reference.log_prob(action))
    torch.testing.assert_close(ours.entropy((logits,)), reference.entropy())


@pytest.mark.parametrize("logits", [[0.0, 1.0, 2.0, -1.0], [-50.0, 0.0, 0.0, 0.0]])
def test_samples_come_in_proportion_to_their_probabilities(logits: list[float]) -> None:
    n = 20_000
    row = torch.tensor(logits)
    action = Categorical(4).sample((row.expand(n, 4),), seeded(3))
    assert action.dtype == torch.int64
    counts = torch.bincount(action, minlength=4)
    expected = n * row.softmax(-1)
    possible = expected > 1
    assert counts[~possible].sum() == 0
    chi_square = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi_square.item() < 21.1  # exceeded once in 10,000 with 3 degrees of freedom


def test_neighbouring_rows_are_drawn_independently() -> None:
    action = Categorical(2).sample((torch.zeros(20_000, 2),), seeded())
    both = (action[0::2] & action[1::2]).float().mean()
    assert both.item() == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 10_000))


def test_the_generator_alone_decides_the_sample() -> None:
    logits = torch.zeros(32, 5)
    before = torch.get_rng_state()
    first = Categorical(5).sample((logits,), seeded(1))
    assert torch.equal(first, Categorical(5).sample((logits,), seeded(1)))
    assert not torch.equal(first, Categorical(5).sample((logits,), seeded(2)))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(logits, torch.zeros(32, 5))


def test_mode_is_the_most_likely() -> None:
    logits = torch.tensor([[0.0, 0.1], [5.0, -5.0]])
    assert Categorical(2).mode((logits,)).tolist() == [1, 0]


def test_gradient_of_logprob_is_choice_minus_probability() -> None:
    logits = torch.tensor([[1.0, 2.0, 5.0]]).log().requires_grad_()
    Categorical(3).logprob((logits,), torch.tensor([1])).sum().backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[-1 / 8, 1 - 2 / 8, -5 / 8]]))


def test_an_impossible_choice_adds_nothing_and_leaves_gradients_finite() -> None:
    logits = torch.tensor([[0.0, 0.0, -math.inf]], requires_grad=True)
    entropy = Categorical(3).entropy((logits,))
    assert entropy.item() == pytest.approx(math.log(2.0))
    entropy.sum().backward()
    assert logits.grad.isfinite().all()
    assert (Categorical(3).sample((logits.detach().expand(500, 3),), seeded()) < 2).all()


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[1000.0, -1000.0]])
    assert Categorical(2).logprob((logits,), torch.tensor([1])).item() == -2000.0
    assert Categorical(2).entropy((logits,)).item() == 0.0


def test_an_action_of_another_shape_is_refused() -> None:
    with pytest.raises(AssertionError):
        Categorical(2).logprob((torch.zeros(4, 2),), torch.zeros(4, 1, dtype=torch.int64))


def test_describe_names_the_probabilities():
    logits = torch.tensor([[0.0, math.log(3.0)]])  # 1 : 3
    probabilities = Categorical(2).describe((logits,))["action_probabilities"]
    torch.testing.assert_close(probabilities, torch.tensor([[0.25, 0.75]]))
