from __future__ import annotations

import math

import pytest
import torch

from utils.distributions import DiagonalNormal


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_logprob_of_the_drawn_action_by_hand() -> None:
    parameters = (torch.zeros(2, 1), torch.zeros(1))
    logprob = DiagonalNormal((1,)).logprob(parameters, torch.tensor([[1.7], [1.0]]))
    # -0.5 * 1.7^2 - 0.918939 = -2.363939;  the bound 1.0 would have -1.418939
    torch.testing.assert_close(logprob, torch.tensor([-2.363939, -1.418939]), rtol=1e-6, atol=0)


def test_logprob_and_entropy_with_spread_by_hand() -> None:
    parameters = (torch.tensor([[1.0, -2.0]]), torch.tensor([2.0, 0.5]).log())
    ours = DiagonalNormal((2,))
    # z = (4 - 1) / 2 = 1.5 and (-2.5 + 2) / 0.5 = -1; log 2 + log 0.5 = 0
    # -(1.125 + 0.5) - 0 - 2 * 0.918939 = -3.462877
    logprob = ours.logprob(parameters, torch.tensor([[4.0, -2.5]]))
    assert logprob.item() == pytest.approx(-3.462877, rel=1e-6)
    # log 2 + log 0.5 = 0, and 2 * (0.918939 + 0.5)
    assert ours.entropy(parameters).item() == pytest.approx(2.837877, rel=1e-6)


@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
def test_agrees_with_torch_for_any_action_shape(shape: tuple[int, ...]) -> None:
    width = math.prod(shape)
    mean = torch.randn(8, width, generator=seeded())
    log_std = 0.5 * torch.randn(width, generator=seeded(1))
    action = torch.randn(8, *shape, generator=seeded(2))
    reference = torch.distributions.Normal(mean, log_std.exp())
    ours = DiagonalNormal(shape)
    torch.testing.assert_close(
        ours.logprob((mean, log_std), action), reference.log_prob(action.reshape(8, -1)).sum(-1)
    )
    torch.testing.assert_close(ours.entropy((mean, log_std)), reference.entropy().sum(-1))
    assert ours.sample((mean, log_std), seeded()).shape == (8, *shape)
    assert torch.equal(ours.mode((mean, log_std)), mean.reshape(8, *shape))


def test_samples_have_the_right_centre_spread_and_independence() -> None:
    n = 20_000
    mean, std = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 3.0])
    action = DiagonalNormal((2,)).sample((mean.expand(n, 2), std.log()), seeded(7))
    assert action.dtype == torch.float32
    z = (action - mean) / std
    assert (z.mean(0).abs() < 4 / math.sqrt(n)).all()
    assert ((z.std(0) - 1).abs() < 4 / math.sqrt(2 * n)).all()
    assert (z[:, 0] * z[:, 1]).mean().abs() < 4 / math.sqrt(n)
    inside = (z.abs() < 1).float().mean(0)
    assert ((inside - 0.682689).abs() < 4 * math.sqrt(0.683 * 0.317 / n)).all()


def test_the_generator_alone_decides_the_sample() -> None:
    parameters = (torch.zeros(16, 2), torch.zeros(2))
    before = torch.get_rng_state()
    first = DiagonalNormal((2,)).sample(parameters, seeded(1))
    assert torch.equal(first, DiagonalNormal((2,)).sample(parameters, seeded(1)))
    assert not torch.equal(first, DiagonalNormal((2,)).sample(parameters, seeded(2)))
    assert torch.equal(torch.get_rng_state(), before)


def test_gradients_reach_mean_and_spread() -> None:
    mean = torch.tensor([[1.0], [1.0]], requires_grad=True)
    log_std = torch.tensor([math.log(2.0)], requires_grad=True)
    DiagonalNormal((1,)).logprob((mean, log_std), torch.tensor([[4.0], [1.0]])).sum().backward()
    # d / d mean = (a - mean) / std^2 = 3 / 4, 0;  d / d log_std = z^2 - 1 = 1.25 and -1
    torch.testing.assert_close(mean.grad, torch.tensor([[0.75], [0.0]]))
    torch.testing.assert_close(log_std.grad, torch.tensor([0.25]))


def test_an_action_of_another_shape_is_refused() -> None:
    with pytest.raises(AssertionError):
        DiagonalNormal((2,)).logprob((torch.zeros(4, 2), torch.zeros(2)), torch.zeros(4, 1))


def test_describe_gives_mean_and_deviation_in_the_shape_of_the_action():
    mean, log_std = torch.arange(8.0).view(2, 4), torch.tensor([0.0, 1.0, 2.0, 3.0]).log1p()
    described = DiagonalNormal((2, 2)).describe((mean, log_std))
    torch.testing.assert_close(described["action_mean"], torch.arange(8.0).view(2, 2, 2))
    expected = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]] * 2)
    torch.testing.assert_close(described["action_std"], expected)
