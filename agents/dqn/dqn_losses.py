"""The terms of DQN and Rainbow as pure functions, one value per sample."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.models.triton_support import why_no_triton


def next_value(*, target_q: Tensor, selector_q: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Compute the value of the next observation that a target bootstraps from.

    ``V = target_q[argmax_a selector_q]``

    With ``selector_q = target_q`` this is the maximum of Mnih et al. 2015, "Human-level control";
    with the online network's values it is van Hasselt et al. 2016, "Deep reinforcement learning
    with double Q-learning", equation 4.

    Args:
        target_q: (B, A) values of the target network; no gradient flows.
        selector_q: (B, A) values that choose the action; no gradient flows.
        allowed: (B, A) bool, which actions the next state allows, at least one; None for all.

    Returns:
        (B,) float.
    """
    action = best_action(selector_q, allowed=allowed)
    return target_q.detach().gather(1, action.unsqueeze(1)).squeeze(1)


def best_action(q: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """Return the action of the highest value among those that are allowed, (B,) int64.

    Args:
        q: (B, A)
        allowed: (B, A) bool; None for all.
    """
    if allowed is not None:
        assert allowed.shape == q.shape, (allowed.shape, q.shape)
        q = q.masked_fill(~allowed, -torch.inf)
    return q.detach().argmax(dim=1)


def td_target(*, reward: Tensor, discount: Tensor, next_value: Tensor) -> Tensor:
    """Compute what a value shall become: ``reward + discount * next_value``.

    Args:
        reward: (B,) of n steps: sum of gamma^i r_i.
        discount: (B,) gamma^n, or 0 where the decision process ended.
        next_value: (B,) V of what the steps led to; no gradient flows.

    Returns:
        (B,) float.
    """
    assert reward.shape == discount.shape == next_value.shape, (
        reward.shape,
        discount.shape,
        next_value.shape,
    )
    return reward + discount * next_value.detach()


def q_of_action(q: Tensor, action: Tensor) -> Tensor:
    """Pick the value of the action that was taken: (B, A) and (B,) int64 to (B,)."""
    assert q.shape[:1] == action.shape, (q.shape, action.shape)
    return q.gather(1, action.unsqueeze(1)).squeeze(1)


def td_loss(*, value: Tensor, target: Tensor, is_huber: bool) -> Tensor:
    """Compute the loss of a temporal difference ``error = value - target``.

    ``huber = error^2 / 2 where |error| <= 1, else |error| - 1/2``, or ``error^2``.

    The derivative of the first is the error clipped to [-1, 1] (Mnih et al. 2015, methods).

    Args:
        value: (B,) Q of the action that was taken; gradients flow through it.
        target: (B,) from `td_target`; none flow.
        is_huber: The first rather than the second.

    Returns:
        (B,) float.
    """
    assert value.shape == target.shape, (value.shape, target.shape)
    if is_huber:
        return F.smooth_l1_loss(value, target.detach(), reduction="none")
    return (value - target.detach()).square()


def td_terms(
    *,
    q: Tensor,
    action: Tensor,
    target_q: Tensor,
    selector_q: Tensor,
    allowed: Tensor | None,
    reward: Tensor,
    discount: Tensor,
    is_huber: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute what one batch says of the values: all of the above, on a GPU as one operation.

    Args:
        q: (B, A) values of the observations; gradients flow through those of the actions.
        action: (B,) int64, those that were taken.
        target_q: See `next_value`.
        selector_q: See `next_value`.
        allowed: See `next_value`.
        reward: See `td_target`.
        discount: See `td_target`.
        is_huber: See `td_loss`.

    Returns:
        Loss (B,) with gradient; size of the error (B,), the priority; Q of the actions, (B,).
    """
    if q.is_cuda and q.dtype == target_q.dtype == torch.float32 and why_no_triton() is None:
        from agents.dqn.fused_td import td_terms_fused

        return td_terms_fused(
            q, action, target_q, selector_q, allowed, reward, discount, is_huber=is_huber
        )
    value = q_of_action(q, action)
    following = next_value(target_q=target_q, selector_q=selector_q, allowed=allowed)
    target = td_target(reward=reward, discount=discount, next_value=following)
    loss = td_loss(value=value, target=target, is_huber=is_huber)
    return loss, (value.detach() - target).abs(), value.detach()


def project_distribution(
    *, probability: Tensor, reward: Tensor, discount: Tensor, support: Tensor
) -> Tensor:
    """Lay the distribution of ``reward + discount * Z`` over the atoms of Z.

    Each atom ``z_j`` moves to ``clip(reward + discount z_j, v_min, v_max)`` and its probability is
    split between the two atoms beside that place, in proportion to nearness: equation 7 of
    Bellemare et al. 2017, "A distributional perspective on reinforcement learning", algorithm 1.

    Args:
        probability: (B, K) of the atoms of the next state's return.
        reward: (B,)
        discount: (B,) gamma^n, or 0 where the decision process ended.
        support: (K,) the atoms, evenly spaced from v_min to v_max.

    Returns:
        (B, K) probabilities that sum to 1; no gradient flows.
    """
    n_atoms = support.shape[0]
    assert probability.shape == (reward.shape[0], n_atoms), (probability.shape, reward.shape)
    assert reward.shape == discount.shape, (reward.shape, discount.shape)
    lowest, highest = support[0], support[-1]
    place = reward.unsqueeze(1) + discount.unsqueeze(1) * support
    place = (place.clamp(lowest, highest) - lowest) / ((highest - lowest) / (n_atoms - 1))
    # share[b, j, i]: how much of atom j goes to atom i; 1 at its place and 0 from one atom on.
    atoms = torch.arange(n_atoms, device=support.device, dtype=support.dtype)
    share = (1.0 - (place.unsqueeze(2) - atoms).abs()).clamp_min(0.0)
    return torch.einsum("bj,bji->bi", probability.detach(), share)


def cross_entropy(*, logits: Tensor, target: Tensor) -> Tensor:
    """Compute ``-sum_i target_i log softmax(logits)_i``, the loss of a distribution.

    Bellemare et al. 2017, the last line of algorithm 1.

    Args:
        logits: (B, K) of the action that was taken; gradients flow through them.
        target: (B, K) from `project_distribution`; none flow.

    Returns:
        (B,) float.
    """
    assert logits.shape == target.shape, (logits.shape, target.shape)
    return -(target.detach() * logits.log_softmax(dim=1)).sum(dim=1)


def divergence(*, cross_entropy: Tensor, target: Tensor) -> Tensor:
    """Compute the Kullback-Leibler divergence from a target: its priority in Rainbow.

    ``D(target || p) = cross_entropy - entropy(target)`` (Hessel et al. 2018, "Rainbow").

    Args:
        cross_entropy: (B,) of `target` and the predicted distribution.
        target: (B, K) probabilities.

    Returns:
        (B,) float, >= 0, no gradient flows.
    """
    entropy = -torch.xlogy(target, target).sum(dim=1)
    return (cross_entropy.detach() - entropy).clamp_min(0.0)
