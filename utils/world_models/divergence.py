"""How far what the model expected lies from what it then saw."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from utils.world_models.latents import Latent


def balanced_divergence(
    latent: Latent,
    posterior: Tensor,
    prior: Tensor,
    *,
    free_nats: float,
    of_mean: bool,
    mean_of_all: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the two terms of the divergence, each with its own gradient.

    ``dynamics = max(free, KL(sg(posterior) || prior))``, which teaches the prior, and
    ``representation = max(free, KL(posterior || sg(prior)))``, which makes what is seen easier to
    expect. Hafner et al. 2025, "Mastering diverse control tasks through world models", equation 3.
    Below the free nats there is no gradient. The divergence of one state is the sum over all its
    parts; only then comes the bound.

    Args:
        latent: The family of both.
        posterior: (T, B, P) parameters.
        prior: (T, B, P) parameters.
        free_nats: The bound, >= 0.
        of_mean: Bound the mean of all states, as in the first two Dreamers, not each state.
        mean_of_all: Turns the mean of these states, (), into that of all states of a batch of which
            other processes have parts; None where these are all. The means of the parts' terms and
            gradients are then those of the whole.

    Returns:
        dynamics and representation, (T, B) float32 each; with `of_mean` both are () instead.
    """
    dynamics = latent.divergence(posterior.detach(), prior)
    representation = latent.divergence(posterior, prior.detach())
    if of_mean:
        dynamics, representation = dynamics.mean(), representation.mean()
        if mean_of_all is not None:
            is_free = mean_of_all(dynamics.detach()) < free_nats
            free = torch.full_like(dynamics, free_nats)
            return torch.where(is_free, free, dynamics), torch.where(is_free, free, representation)
    return dynamics.clamp_min(free_nats), representation.clamp_min(free_nats)
