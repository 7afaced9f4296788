from __future__ import annotations

import pytest
import torch

from utils.world_models import CategoricalLatent, GaussianLatent, balanced_divergence

LATENT = CategoricalLatent(32, 2, uniform_share=0.0)
# One choice of 32 is (3, 1) / 4 against (1, 1) / 2:
# 0.75 ln 1.5 + 0.25 ln 0.5 = 0.3040988 - 0.1732868 = 0.1308120 nats; eight of them 1.0464960
ONE = 0.1308120


def posterior(n_choices: int) -> torch.Tensor:
    parameters = torch.zeros(1, 1, 32, 2)
    parameters[..., :n_choices, 0] = torch.tensor(3.0).log()
    return parameters.flatten(2).requires_grad_()


def prior() -> torch.Tensor:
    return torch.zeros(1, 1, 64, requires_grad=True)


def terms(
    post: torch.Tensor, pri: torch.Tensor, *, of_mean: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    return balanced_divergence(LATENT, post, pri, free_nats=1.0, of_mean=of_mean)


def test_all_choices_are_summed_before_the_bound() -> None:
    # Each choice alone lies below 1; were each bounded, there would be 32 nats.
    for term in terms(posterior(8), prior()):
        torch.testing.assert_close(term, torch.full((1, 1), 8 * ONE), rtol=1e-5, atol=0)
        assert term.requires_grad


def test_below_the_bound_there_is_one_nat_and_no_gradient() -> None:
    post, pri = posterior(7), prior()
    both = terms(post, pri)
    for term in both:
        torch.testing.assert_close(term, torch.ones(1, 1))
    sum(both).sum().backward()
    assert (post.grad == 0).all()
    assert (pri.grad == 0).all()


def test_dynamics_teaches_the_prior_and_representation_the_posterior() -> None:
    post, pri = posterior(32), prior()
    dynamics, representation = terms(post, pri)
    assert torch.equal(dynamics, representation)
    dynamics.sum().backward()
    assert post.grad is None
    # d KL(p || q) / d logits of q = q - p
    torch.testing.assert_close(pri.grad[0, 0, :2], torch.tensor([-0.25, 0.25]))
    pri.grad = None
    representation.sum().backward()
    assert pri.grad is None
    # p_i (ln p_i / q_i - KL) = 0.75 (0.4054651 - 0.1308120)
    torch.testing.assert_close(post.grad[0, 0, :2], torch.tensor([0.2059898, -0.2059898]))


def test_the_bound_is_that_of_each_state() -> None:
    post = torch.cat([posterior(0), posterior(16)], dim=1)
    dynamics, _ = terms(post, torch.zeros(1, 2, 64))
    torch.testing.assert_close(dynamics, torch.tensor([[1.0, 16 * ONE]]), rtol=1e-5, atol=0)


def test_or_of_the_mean() -> None:
    # (0 + 16 * 0.1308120) / 2 = 1.0464960
    post = torch.cat([posterior(0), posterior(16)], dim=1)
    dynamics, representation = terms(post, torch.zeros(1, 2, 64), of_mean=True)
    assert dynamics.shape == representation.shape == ()
    torch.testing.assert_close(dynamics, torch.tensor(8 * ONE), rtol=1e-5, atol=0)
    low, _ = terms(torch.cat([posterior(0), posterior(14)], 1), torch.zeros(1, 2, 64), of_mean=True)
    assert low == 1.0


def test_of_normal_distributions() -> None:
    # means 3 apart, both of deviation ln 2 + 0.1: 9 / (2 * 0.6290825) = 7.1532746
    latent = GaussianLatent(1, min_std=0.1)
    a, b = torch.tensor([[[3.0, 0.0]]]), torch.zeros(1, 1, 2)
    dynamics, representation = balanced_divergence(latent, a, b, free_nats=3.0, of_mean=False)
    torch.testing.assert_close(dynamics, torch.tensor([[7.1532746]]), rtol=1e-5, atol=0)
    torch.testing.assert_close(representation, dynamics)


def test_the_bound_of_the_mean_holds_of_all_parts_of_a_batch() -> None:
    # Two parts of 4 and 12 choices, 0.52 and 1.57 nats: 1.05 in the mean, which is above 1.
    parts = [(posterior(n), prior()) for n in (4, 12)]
    whole = (4 + 12) / 2 * ONE

    def bounded(free_nats: float) -> list[torch.Tensor]:
        return [
            balanced_divergence(
                LATENT,
                *part,
                free_nats=free_nats,
                of_mean=True,
                mean_of_all=lambda _: torch.tensor(whole),
            )[0]
            for part in parts
        ]

    terms_of_parts = bounded(1.0)
    torch.testing.assert_close(sum(terms_of_parts) / 2, torch.tensor(whole), rtol=1e-5, atol=0)
    sum(terms_of_parts).backward()
    assert all((pri.grad != 0).any() for _, pri in parts)
    for post, pri in parts:
        post.grad = pri.grad = None
    terms_of_parts = bounded(1.1)  # now the mean is free, though the second part alone is not
    assert [float(term.detach()) for term in terms_of_parts] == pytest.approx([1.1, 1.1])
    sum(terms_of_parts).backward()
    assert all(pri.grad is None or (pri.grad == 0).all() for _, pri in parts)
