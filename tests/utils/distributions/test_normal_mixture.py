"""Mixtures against numbers that were worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from utils.distributions.normal_mixture import NormalMixture

HALF_LOG_TWO_PI = 0.918939


def parameters(logits, means, log_stds):
    return torch.tensor([*logits, *means, *log_stds])


def test_each_number_has_a_mixture_of_its_own():
    # Two components, two numbers; rows are components. Weights of number 0: 0.5, 0.5; of number 1:
    # 0.25, 0.75. Deviations 1 and 2.
    mixture = NormalMixture(2, 2, is_joint=False)
    assert mixture.n_parameters == 2 * (2 + 4)
    given = parameters(
        [0.0, 0.0, 0.0, math.log(3.0)],
        [0.0, 0.0, 1.0, 2.0],
        [0.0, 0.0, math.log(2.0), math.log(2.0)],
    )
    value = torch.tensor([1.0, 0.0])
    # N(1; 0, 1) = 0.241971, N(1; 1, 2) = 0.199471: 0.5 * 0.441442 = 0.220721
    # N(0; 0, 1) = 0.398942, N(0; 2, 2) = 0.120985: 0.0997356 + 0.0907389 = 0.1904745
    expected = math.log(0.220721) + math.log(0.1904745)
    assert mixture.log_prob(given, value).item() == pytest.approx(expected, rel=1e-5)


def test_a_joint_mixture_chooses_once_for_all_numbers():
    mixture = NormalMixture(2, 2, is_joint=True)
    assert mixture.n_parameters == 2 * (1 + 4)
    given = parameters(
        [0.0, math.log(3.0)],
        [0.0, 0.0, 1.0, 2.0],
        [0.0, 0.0, math.log(2.0), math.log(2.0)],
    )
    value = torch.tensor([1.0, 0.0])
    # 0.25 * 0.241971 * 0.398942 + 0.75 * 0.199471 * 0.120985 = 0.0241331 + 0.0180998
    expected = math.log(0.0422329)
    assert mixture.log_prob(given, value).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("is_joint", [False, True])
def test_one_component_is_a_normal_distribution_either_way(is_joint):
    mixture = NormalMixture(3, 1, is_joint=is_joint)
    n_logits = 1 if is_joint else 3
    given = parameters([5.0] * n_logits, [0.0, 1.0, -1.0], [0.0, math.log(0.5), math.log(2.0)])
    value = torch.tensor([0.5, 1.5, 1.0])
    # Squares 0.25, 1 and 1 of what is missed in deviations; logarithms of the deviations add to 0.
    expected = -0.5 * 2.25 - 3 * HALF_LOG_TWO_PI
    assert mixture.log_prob(given, value).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("is_joint", [False, True])
def test_densities_integrate_to_one(is_joint):
    mixture = NormalMixture(1, 3, is_joint=is_joint)
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(mixture.n_parameters, generator=generator)
    grid = torch.linspace(-40.0, 40.0, 80001).unsqueeze(-1)
    density = mixture.log_prob(given.expand(len(grid), -1), grid).exp()
    assert density.sum().item() * 0.001 == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("is_joint", [False, True])
def test_draws_have_the_moments_of_the_mixture(is_joint):
    mixture = NormalMixture(2, 2, is_joint=is_joint)
    log_weights = [0.0, math.log(3.0)] if is_joint else [0.0, 0.0, math.log(3.0), math.log(3.0)]
    given = parameters(log_weights, [-1.0, -1.0, 1.0, 1.0], [math.log(0.5)] * 4)
    generator = torch.Generator().manual_seed(3)
    noise = mixture.draw_noise((40_000,), generator)
    drawn = mixture.sample(given.expand(40_000, -1), noise)
    # Weights 1/4 and 3/4 of means -1 and 1: mean 0.5, variance 0.25 + 1 - 0.25.
    torch.testing.assert_close(drawn.mean(dim=0), torch.full((2,), 0.5), atol=0.02, rtol=0)
    torch.testing.assert_close(drawn.var(dim=0), torch.ones(2), atol=0.03, rtol=0)
    # Only a joint choice makes the numbers go together: covariance 1 - 0.25.
    covariance = ((drawn[:, 0] - 0.5) * (drawn[:, 1] - 0.5)).mean().item()
    assert covariance == pytest.approx(0.75 if is_joint else 0.0, abs=0.03)


def test_temperature_divides_the_logits_and_multiplies_the_variances():
    mixture = NormalMixture(1, 2, is_joint=False)
    given = parameters([0.0, math.log(9.0)], [0.0, 10.0], [0.0, 0.0])
    # At temperature 2 the weights are as 1 to 3: 0.25 and 0.75.
    noise = torch.tensor([[2.0, 0.24], [2.0, 0.26]])
    drawn = mixture.sample(given.expand(2, -1), noise, temperature=2.0).squeeze(-1)
    shift = 2.0 * math.sqrt(2.0)
    torch.testing.assert_close(drawn, torch.tensor([shift, 10.0 + shift]))
    # At temperature 1 they are 0.1 and 0.9.
    drawn = mixture.sample(given.expand(2, -1), noise).squeeze(-1)
    torch.testing.assert_close(drawn, torch.tensor([12.0, 12.0]))
    assert mixture.likeliest(given).item() == 10.0


def test_the_bound_is_exact_for_one_component_and_never_below_zero():
    mixture = NormalMixture(1, 1, is_joint=False)
    given = parameters([0.0], [1.0], [math.log(2.0)])
    # KL(N(0, 1) || N(1, 2)) = log 2 + (1 + 1) / (2 * 4) - 0.5 = 0.443147
    divergence = mixture.divergence_from_normal(torch.zeros(1), torch.zeros(1), given)
    assert divergence.item() == pytest.approx(0.443147, rel=1e-5)
    two = NormalMixture(1, 2, is_joint=True)
    same = parameters([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert two.divergence_from_normal(torch.zeros(1), torch.zeros(1), same).item() == pytest.approx(
        0.0, abs=1e-6
    )


def test_a_density_is_bounded_where_numbers_never_change():
    mixture = NormalMixture(1, 1, is_joint=False)
    given = parameters([0.0], [0.0], [-1000.0]).requires_grad_()
    loss = -mixture.log_prob(given, torch.zeros(1))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(given.grad).all()
