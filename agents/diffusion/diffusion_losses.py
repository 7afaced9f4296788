"""The loss of Diffusion Policy, pure."""

from __future__ import annotations

from torch import Tensor


def denoising_loss(predicted: Tensor, target: Tensor, is_real: Tensor) -> Tensor:
    """Return the mean squared error of each sequence over the actions that there are, (B,).

    ``mean_{t real, i} (p_ti - y_ti)^2``, Chi et al. 2023, "Diffusion Policy: Visuomotor policy
    learning via action diffusion", equation 5. Each action of the minibatch has the same weight:
    a row counts for its share of them, so that the mean over the rows is the mean over all actions
    that there are.

    Differs: actions beyond an end of the episode, which repeat the last or the first one, do not
    count.

    Args:
        predicted: (B, T, A) with gradient.
        target: (B, T, A)
        is_real: (B, T) bool, at least one true.
    """
    assert predicted.shape == target.shape, (predicted.shape, target.shape)
    assert is_real.shape == predicted.shape[:2], (is_real.shape, predicted.shape)
    error = (predicted - target).square().mean(dim=-1) * is_real
    return error.sum(dim=1) * (len(is_real) / is_real.sum())
