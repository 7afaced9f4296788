from __future__ import annotations

import torch

from utils.distributions.squashed_normal import squash


def test_actions_and_densities_by_hand() -> None:
    # u = 0.5 + 2 * -0.25 = 0: a = 0; log N = -(0.03125 + ln 2 + 0.9189385) = -1.6433357, and
    # 1 - tanh(0)^2 = 1. u = 1 + 1 * 0.5 = 1.5: a = 0.9051483; log N = -(0.125 + 0.9189385), and
    # log(1 - a^2) = log(0.1807066) = -1.7108811, so log p = -1.0439385 + 1.7108811 = 0.6669426.
    mean = torch.tensor([[0.5], [1.0]])
    log_std = torch.tensor([[0.6931472], [0.0]])
    action, logprob = squash(mean, log_std, torch.tensor([[-0.25], [0.5]]))
    torch.testing.assert_close(action, torch.tensor([[0.0], [0.9051483]]))
    torch.testing.assert_close(logprob, torch.tensor([-1.6433357, 0.6669426]))


def test_densities_are_summed_over_dimensions() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, log_std, noise = torch.randn((3, 64, 3), generator=generator).unbind(0)
    _, logprob = squash(mean, log_std, noise)
    parts = [
        squash(mean[:, i : i + 1], log_std[:, i : i + 1], noise[:, i : i + 1])[1] for i in range(3)
    ]
    assert logprob.shape == (64,)
    torch.testing.assert_close(logprob, sum(parts))


def test_the_density_is_that_of_torchs_transformed_distribution() -> None:
    from torch.distributions import Normal, TanhTransform, TransformedDistribution

    generator = torch.Generator().manual_seed(1)
    mean, log_std, noise = torch.randn((3, 256, 2), generator=generator, dtype=torch.float64)
    action, logprob = squash(mean, log_std, noise)
    theirs = TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform()])
    inside = (action.abs() < 0.999).all(dim=1)
    expected = theirs.log_prob(action).sum(dim=1)
    torch.testing.assert_close(logprob[inside], expected[inside], rtol=1e-6, atol=1e-6)


def test_the_density_integrates_to_one() -> None:
    noise = torch.linspace(-8, 8, 20001, dtype=torch.float64).unsqueeze(1)
    mean, log_std = torch.full_like(noise, 0.3), torch.full_like(noise, -0.4)
    action, logprob = squash(mean, log_std, noise)
    total = torch.trapezoid(logprob.exp(), action.squeeze(1))
    torch.testing.assert_close(total, torch.tensor(1.0, dtype=torch.float64), rtol=1e-4, atol=0)


def test_saturated_actions_keep_finite_densities_and_gradients() -> None:
    mean = torch.tensor([[40.0], [-40.0]], requires_grad=True)
    log_std = torch.zeros(2, 1, requires_grad=True)
    action, logprob = squash(mean, log_std, torch.zeros(2, 1))
    torch.testing.assert_close(action, torch.tensor([[1.0], [-1.0]]))
    # log(1 - tanh(40)^2) = 2 (ln 2 - 40) = -78.6137: log p = -0.9189385 + 78.6137056
    torch.testing.assert_close(logprob, torch.tensor([77.6947671, 77.6947671]))
    logprob.sum().backward()
    torch.testing.assert_close(mean.grad, torch.tensor([[2.0], [-2.0]]))


def test_gradients_are_those_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn((3, 5, 2), generator=generator, dtype=torch.float64).unbind(0)
    leaves = [part.clone().requires_grad_(True) for part in inputs]
    assert torch.autograd.gradcheck(squash, leaves)
