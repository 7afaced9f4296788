"""The terms of TD-MPC as pure functions, one value per step of each sequence.

Equations are those of Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous
control". Step t of a sequence leads from row t to row t + 1; its reward and flags came with the
latter.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def discount_of(episode_steps: int) -> float:
    """Return the discount of one step for episodes of a length.

    ``(n - 1) / n`` with n a fifth of the length, but 0.95 to 0.995 (appendix, "discount factor").

    Args:
        episode_steps: Most steps of an episode, > 0.
    """
    fifth = episode_steps / 5.0
    return min(max((fifth - 1.0) / fifth, 0.95), 0.995)


def step_weights(terminated: Tensor, *, decay: float) -> Tensor:
    """Return ``decay^t``, and 0 for all steps after an end, (H, B) float32.

    The step that ends an episode counts; what follows belongs to another one.

    Args:
        terminated: (H, B) bool, the decision process ended with step t.
        decay: rho of equation 3, in (0, 1].
    """
    goes_on = (~terminated).float().cumprod(dim=0)
    reached = torch.cat([torch.ones_like(goes_on[:1]), goes_on[:-1]])
    powers = decay ** torch.arange(len(terminated), device=terminated.device, dtype=torch.float32)
    return powers.unsqueeze(1) * reached


def td_target(
    *, reward: Tensor, terminated: Tensor, next_value: Tensor, gamma: Tensor | float
) -> Tensor:
    """Return ``r + gamma (1 - terminated) min(Q_i, Q_j)``, (H, B); no gradient flows.

    Args:
        reward: (H, B)
        terminated: (H, B) bool; a step that was only cut off bootstraps.
        next_value: (2, H, B) of two target critics at what each step led to.
        gamma: Discount of one step.
    """
    assert next_value.shape == (2, *reward.shape), (next_value.shape, reward.shape)
    bootstrap = next_value.min(dim=0).values.detach()
    return reward + gamma * (~terminated).float() * bootstrap


def consistency_loss(predicted: Tensor, encoded: Tensor) -> Tensor:
    """Return the mean squared distance of latent states, (H, B).

    Args:
        predicted: (H, B, L) by the dynamics.
        encoded: (H, B, L) from what was observed; no gradient flows.
    """
    assert predicted.shape == encoded.shape, (predicted.shape, encoded.shape)
    return (predicted - encoded.detach()).square().mean(dim=-1)


def end_loss(output: Tensor, terminated: Tensor) -> Tensor:
    """Return the binary cross-entropy of predicted ends, (H, B).

    Args:
        output: (H, B) log-odds that the episode is over at what a step led to.
        terminated: (H, B) bool
    """
    target = terminated.to(output.dtype)
    return F.binary_cross_entropy_with_logits(output, target, reduction="none")


def prior_loss(*, value: Tensor, entropy: Tensor, scale: Tensor, ent_coef: float) -> Tensor:
    """Return ``-(Q / S + ent_coef * entropy)``, equation 4, (H + 1, B).

    The gradient passes through the actions that are valued.

    Args:
        value: (H + 1, B) of the prior's actions.
        entropy: (H + 1, B)
        scale: S, () the spread of values; no gradient flows.
        ent_coef: Worth of the entropy.
    """
    assert value.shape == entropy.shape, (value.shape, entropy.shape)
    return -(value / scale.detach() + ent_coef * entropy)
