"""Numbers as distributions over fixed bins, learnt by cross-entropy.

Hafner et al. 2025, "Mastering diverse control tasks through world models", equations 10 and 11.
"""

from __future__ import annotations

import torch
from torch import Tensor

from utils.distributions.symlog import symexp


def exponential_bins(n: int, *, limit: float) -> Tensor:
    """Return bins that lie denser the nearer they are to 0, (n,) float32, rising.

    ``bins = symexp(linspace(-limit, limit, n))``, one half mirrored from the other, so that they
    are symmetric to the last bit.

    Args:
        n: Number of bins, odd.
        limit: Symmetric logarithm of the last bin.
    """
    assert n % 2 == 1, n
    half = symexp(torch.linspace(-limit, 0.0, n // 2 + 1, dtype=torch.float32))
    return torch.cat([half, -half[:-1].flip(0)])


ROUNDING = 4e-6
"""Share of two opposite probabilities below which their difference is rounding.

Products of float32 sum up the columns of a layer in different orders, so that bins which nobody has
told apart get logits that differ in their last bits. Early on the farthest ones, worth 5e8, would
make noise of that which is larger than rewards.
"""


def two_hot_mean(logits: Tensor, bins: Tensor) -> Tensor:
    """Return the mean of the distribution, (...) float32.

    Each bin is taken together with the one that lies opposite, and only the difference of both
    counts, where it is more than rounding: the mean of a symmetric distribution is 0 exactly,
    whatever the size of its bins.

    Args:
        logits: (..., n)
        bins: (n,) symmetric around 0, n odd.
    """
    probability = logits.float().softmax(dim=-1)
    middle = len(bins) // 2
    low, high = probability[..., :middle].flip(-1), probability[..., middle + 1 :]
    difference = high - low
    is_rounding = difference.abs() <= ROUNDING * (high + low)
    return (difference.masked_fill(is_rounding, 0.0) * bins[middle + 1 :]).sum(dim=-1)


def two_hot_loss(logits: Tensor, target: Tensor, bins: Tensor) -> Tensor:
    """Return the cross-entropy between numbers and predicted distributions, (...) float32.

    A number has two bins around it, and each of them the more weight the nearer it is; beyond the
    last bin it counts as that bin: ``-(w log p[k] + (1 - w) log p[k + 1])``,
    ``w = (bins[k + 1] - target) / (bins[k + 1] - bins[k])``.

    Args:
        logits: (..., n)
        target: (...) no gradient flows.
        bins: (n,) rising.
    """
    assert logits.shape[:-1] == target.shape, (logits.shape, target.shape)
    target = target.detach().float().contiguous()
    above = torch.searchsorted(bins, target, right=True).clamp(1, len(bins) - 1)
    below = above - 1
    low, high = bins[below], bins[above]
    weight = ((high - target) / (high - low)).clamp(0.0, 1.0)
    logprob = logits.float().log_softmax(dim=-1)
    picked = logprob.gather(-1, torch.stack([below, above], dim=-1))
    return -torch.lerp(picked[..., 1], picked[..., 0], weight)
