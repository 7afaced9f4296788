"""The losses of World Models: pure functions, one value for each picture or step.

Ha and Schmidhuber 2018, "World models", appendix A.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.distributions.normal_mixture import NormalMixture


def reconstruction_loss(predicted: Tensor, picture: Tensor) -> Tensor:
    """Return the squared error summed over the pixels, (B,).

    Args:
        predicted: (B, C, H, W) in [0, 1].
        picture: (B, C, H, W) in [0, 1].
    """
    assert predicted.shape == picture.shape, (predicted.shape, picture.shape)
    return (predicted - picture).square().flatten(1).sum(dim=1)


def divergence_loss(mean: Tensor, log_var: Tensor, *, free_nats: float) -> Tensor:
    """Return the divergence from standard normal numbers, at least what costs nothing, (B,).

    ``max(sum_d (m_d^2 + s_d^2 - 1 - log s_d^2) / 2, free_nats)``; below the bound nothing is
    learnt from it.

    Args:
        mean: (B, D)
        log_var: (B, D)
        free_nats: Bound for the whole picture, >= 0.
    """
    assert mean.shape == log_var.shape, (mean.shape, log_var.shape)
    divergence = 0.5 * (mean.square() + log_var.exp() - 1.0 - log_var).sum(dim=-1)
    return divergence.clamp_min(free_nats)


def expectation_loss(mixture: NormalMixture, parameters: Tensor, latent: Tensor) -> Tensor:
    """Return the negative log-density of what came, divided by the numbers of a latent, (...).

    No gradient reaches the latents: the autoencoder is learnt by then.

    Args:
        mixture: Family of what is expected.
        parameters: (..., n_parameters)
        latent: (..., D)
    """
    return -mixture.log_prob(parameters, latent.detach()) / mixture.width


def end_loss(logit: Tensor, terminated: Tensor, *, end_weight: float) -> Tensor:
    """Return the cross-entropy of whether the process goes on, ends weighing more, (...).

    A truncated episode did not end.

    Args:
        logit: (...) of going on.
        terminated: (...) bool.
        end_weight: Weight of an end against a step that is none.
    """
    loss = F.binary_cross_entropy_with_logits(
        logit, (~terminated).to(logit.dtype), reduction="none"
    )
    return loss * torch.where(terminated, end_weight, 1.0)


def mean_where(values: Tensor, is_valid: Tensor) -> Tensor:
    """Return the mean of values (...) where `is_valid` (...) bool says so; 0 where nowhere, ()."""
    assert values.shape == is_valid.shape, (values.shape, is_valid.shape)
    weight = is_valid.to(values.dtype)
    return (values * weight).sum() / weight.sum().clamp_min(1.0)
