"""Losses of behaviour cloning, pure."""

from __future__ import annotations

from torch import Tensor


def squared_error(action: Tensor, demonstrated: Tensor) -> Tensor:
    """Return the mean squared distance of each action from the demonstrated one, (B,).

    ``mean_i (a_i - d_i)^2``. Its least is the mean of all that was demonstrated in a situation,
    which need not be anything that was.

    Args:
        action: (B, ...) float, with gradient.
        demonstrated: (B, ...) float.
    """
    assert action.shape == demonstrated.shape, (action.shape, demonstrated.shape)
    return (action - demonstrated).square().flatten(1).mean(dim=1)


def negative_likelihood(logprob: Tensor) -> Tensor:
    """Return ``-log pi(d | s)``, (B,).

    Args:
        logprob: (B,) of the demonstrated actions, with gradient.
    """
    return -logprob


def distance(action: Tensor, demonstrated: Tensor, *, is_choice: bool) -> Tensor:
    """Return how far actions are from demonstrated ones, (B,).

    Args:
        action: (B, ...)
        demonstrated: (B, ...)
        is_choice: 1 where any part differs; else the mean absolute difference.
    """
    assert action.shape == demonstrated.shape, (action.shape, demonstrated.shape)
    if is_choice:
        return (action != demonstrated).reshape(len(action), -1).any(dim=1).float()
    return (action - demonstrated).abs().flatten(1).mean(dim=1)
