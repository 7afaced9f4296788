from __future__ import annotations

import pytest
import torch

from utils.distributions.tanh_normal import TanhNormal


def one(raw_mean: float, raw_std: float, n: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.full((n, 1), raw_mean), torch.full((n, 1), raw_std)


def test_density_by_hand() -> None:
    # mean 0, std 5 + 1e-4; tanh^-1(0) = 0: -ln 5.0001 - 0.9189385 = -1.6094579 - 0.9189385
    distribution = TanhNormal(1)
    first = distribution.logprob(one(0.0, 0.0), torch.tensor([[0.0]]))
    torch.testing.assert_close(first, torch.tensor([-2.5283964]))
    # mean 5 tanh(5 / 5) = 3.8079708, action tanh(1): z = (1 - 3.8079708) / 5.0001 = -0.5615829;
    # -0.1576877 - 2.5283964 - ln(1 - 0.7615942^2 = 0.4199743) = -2.6860841 + 0.8675617
    second = distribution.logprob(one(5.0, 0.0), torch.tensor([[0.7615942]]))
    torch.testing.assert_close(second, torch.tensor([-1.8185225]), rtol=1e-5, atol=0)


@pytest.mark.parametrize(("raw_mean", "raw_std"), [(0.0, -5.5), (0.7, -5.0), (-1.5, -6.0)])
def test_the_density_integrates_to_one(raw_mean: float, raw_std: float) -> None:
    # softplus(raw_std + 4.9932) lies between 0.31 and 0.69: all of it within |u| < 6.
    action = torch.linspace(-6, 6, 4001, dtype=torch.float64).tanh()
    parameters = one(raw_mean, raw_std, len(action))
    logprob = TanhNormal(1).logprob(parameters, action.float().unsqueeze(1))
    total = torch.trapezoid(logprob.double().exp(), action)
    torch.testing.assert_close(total, torch.tensor(1.0, dtype=torch.float64), rtol=1e-4, atol=0)


def test_the_density_is_that_of_the_draws() -> None:
    parameters = one(0.7, -5.0, 200_000)
    action = TanhNormal(1).sample(parameters, torch.Generator().manual_seed(0))
    edges = torch.linspace(-0.9, 0.9, 7)
    share = torch.histc(action, bins=6, min=-0.9, max=0.9) / len(action)
    for low, high, seen in zip(edges[:-1], edges[1:], share, strict=True):
        grid = torch.linspace(float(low), float(high), 501).unsqueeze(1)
        density = TanhNormal(1).logprob(one(0.7, -5.0, 501), grid).exp()
        expected = torch.trapezoid(density, grid.squeeze(1))
        torch.testing.assert_close(seen, expected, rtol=0, atol=0.005)


def test_densities_are_summed_over_dimensions_of_any_batch() -> None:
    generator = torch.Generator().manual_seed(0)
    raw_mean, raw_std = torch.randn((2, 4, 5, 3), generator=generator)
    action = torch.rand((4, 5, 3), generator=generator) * 1.8 - 0.9
    logprob, entropy = TanhNormal(3).logprob_and_entropy((raw_mean, raw_std), action)
    single = [
        TanhNormal(1).logprob((raw_mean[..., i : i + 1], raw_std[..., i : i + 1]), action[..., [i]])
        for i in range(3)
    ]
    assert logprob.shape == entropy.shape == (4, 5)
    torch.testing.assert_close(logprob, sum(single))


def test_the_mode_is_the_tangent_of_the_bounded_mean() -> None:
    # tanh(3.8079708) = 0.9990154
    mode = TanhNormal(1).mode(one(5.0, 0.0))
    torch.testing.assert_close(mode, torch.tensor([[0.9990154]]))


def test_saturated_actions_keep_finite_densities_and_gradients() -> None:
    parameters = tuple(part.requires_grad_() for part in one(20.0, 0.0, 2))
    logprob = TanhNormal(1).logprob(parameters, torch.tensor([[1.0], [-1.0]]))
    logprob.sum().backward()
    assert logprob.isfinite().all()
    assert all(part.grad.isfinite().all() for part in parameters)
