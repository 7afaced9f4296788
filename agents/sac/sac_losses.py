"""The losses of soft actor-critic: pure functions of tensors, unreduced.

Haarnoja et al. 2018b, "Soft actor-critic algorithms and applications"; for choices Christodoulou
2019, "Soft actor-critic for discrete action settings". ``alpha`` is the temperature, the worth of
one nat of entropy.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def soft_value(*, q: Tensor, logprob: Tensor, alpha: Tensor) -> Tensor:
    """Compute the value of a state from one action drawn there.

    ``V = min_e q_e - alpha logprob``, Haarnoja et al. 2018b, equation 3, with the smallest of
    several critics (Fujimoto et al. 2018).

    Args:
        q: (E, B) values of the drawn action by E critics.
        logprob: (B,) its log-density.
        alpha: () temperature.

    Returns:
        (B,) float.
    """
    assert q.shape[1:] == logprob.shape, (q.shape, logprob.shape)
    return q.min(dim=0).values - alpha * logprob


def soft_value_of_choices(*, q: Tensor, logprob: Tensor, alpha: Tensor) -> Tensor:
    """Compute the value of a state from all its choices.

    ``V = sum_a p_a (min_e q_e,a - alpha log p_a)``, Christodoulou 2019, equation 10.

    Args:
        q: (E, B, n) values of n choices by E critics.
        logprob: (B, n) log-probabilities of the choices.
        alpha: () temperature.

    Returns:
        (B,) float.
    """
    assert q.shape[1:] == logprob.shape, (q.shape, logprob.shape)
    return (logprob.exp() * (q.min(dim=0).values - alpha * logprob)).sum(dim=1)


def q_target(*, reward: Tensor, discount: Tensor, next_value: Tensor) -> Tensor:
    """Compute what a critic shall say: ``reward + discount V(next)``.

    Haarnoja et al. 2018b, equation 2, for n steps.

    Args:
        reward: (B,) of n steps: sum of gamma^i r_i.
        discount: (B,) gamma^n, or 0 where the decision process ended.
        next_value: (B,) by the target critics; no gradient flows.

    Returns:
        (B,) float.
    """
    assert reward.shape == discount.shape == next_value.shape, (
        reward.shape,
        discount.shape,
        next_value.shape,
    )
    return reward + discount * next_value.detach()


def critic_loss(*, q: Tensor, target: Tensor) -> Tensor:
    """Compute ``1/2 sum_e (q_e - target)^2``: Haarnoja et al. 2018b, equation 5, for E critics.

    Args:
        q: (E, B) values of the actions that were taken; gradients flow.
        target: (B,) from `q_target`; none flow.

    Returns:
        (B,) float.
    """
    assert q.shape[1:] == target.shape, (q.shape, target.shape)
    squares = F.mse_loss(q, target.detach().expand_as(q), reduction="none")
    return 0.5 * squares.sum(dim=0)


def actor_loss(*, q: Tensor, logprob: Tensor, alpha: Tensor) -> Tensor:
    """Compute ``alpha logprob - min_e q_e``: Haarnoja et al. 2018b, equation 9.

    It is minus the `soft_value`, with a gradient to the actor through the action.

    Args:
        q: (E, B) values of a drawn action, which depends on the actor.
        logprob: (B,) its log-density, likewise.
        alpha: () temperature; no gradient flows.

    Returns:
        (B,) float.
    """
    assert q.shape[1:] == logprob.shape, (q.shape, logprob.shape)
    return alpha.detach() * logprob - q.min(dim=0).values


def actor_loss_of_choices(*, q: Tensor, logprob: Tensor, alpha: Tensor) -> Tensor:
    """Compute ``sum_a p_a (alpha log p_a - min_e q_e,a)``: Christodoulou 2019, equation 12.

    Args:
        q: (E, B, n); no gradient flows.
        logprob: (B, n) log-probabilities; gradients flow.
        alpha: () temperature; no gradient flows.

    Returns:
        (B,) float.
    """
    return -soft_value_of_choices(q=q.detach(), logprob=logprob, alpha=alpha.detach())


def temperature_loss(
    *, log_alpha: Tensor, entropy: Tensor, target_entropy: float | Tensor
) -> Tensor:
    """Compute ``log_alpha (entropy - target_entropy)``: the temperature rises while it is short.

    Differs: Haarnoja et al. 2018b, equation 18, has alpha where this has its logarithm, as their
    own implementation does; both vanish at the same place.

    Args:
        log_alpha: () gradients flow.
        entropy: (B,) of the policy, or minus the log-density of an action drawn; none flow. Or
            their mean, (), for the loss is linear in it.
        target_entropy: What the mean entropy shall be, in nats; or (B,) for each state.

    Returns:
        (B,) float, or ().
    """
    return log_alpha * (entropy.detach() - target_entropy)
