"""The losses of TD3: pure functions of tensors, unreduced.

Fujimoto et al. 2018, "Addressing function approximation error in actor-critic methods".
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def smoothed_action(*, action: Tensor, noise: Tensor, limit: float) -> Tensor:
    """Compute ``clip(action + clip(noise, -limit, limit), -1, 1)``: equation 14.

    Args:
        action: (B, A) of the target actor, in [-1, 1].
        noise: (B, A)
        limit: Largest size of the noise.

    Returns:
        (B, A) in [-1, 1]; no gradient flows.
    """
    assert action.shape == noise.shape, (action.shape, noise.shape)
    return (action.detach() + noise.clamp(-limit, limit)).clamp(-1.0, 1.0)


def q_target(*, reward: Tensor, discount: Tensor, next_q: Tensor) -> Tensor:
    """Compute ``reward + discount min_e next_q_e``: equation 10, for n steps and E critics.

    Args:
        reward: (B,) of n steps: sum of gamma^i r_i.
        discount: (B,) gamma^n, or 0 where the decision process ended.
        next_q: (E, B) of the smoothed next action by the target critics; no gradient flows.

    Returns:
        (B,) float.
    """
    assert reward.shape == discount.shape == next_q.shape[1:], (
        reward.shape,
        discount.shape,
        next_q.shape,
    )
    return reward + discount * next_q.detach().min(dim=0).values


def critic_loss(*, q: Tensor, target: Tensor) -> Tensor:
    """Compute ``sum_e (q_e - target)^2``: algorithm 1.

    Args:
        q: (E, B) values of the actions that were taken; gradients flow.
        target: (B,) from `q_target`; none flow.

    Returns:
        (B,) float.
    """
    assert q.shape[1:] == target.shape, (q.shape, target.shape)
    squares = F.mse_loss(q, target.detach().expand_as(q), reduction="none")
    return squares.sum(dim=0)


def actor_loss(*, q: Tensor) -> Tensor:
    """Compute ``-q_1``: the first critic judges the actor, algorithm 1.

    Args:
        q: (E, B) values of the actor's actions; gradients flow to the actor.

    Returns:
        (B,) float.
    """
    return -q[0]
