"""Mean and variance of everything seen so far."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RunningMoments(nn.Module):
    """Count, mean and variance of a stream of batches, in float64 (Chan et al. 1983).

    All three are buffers, so they travel with the weights. With no sample yet the mean is 0 and
    the variance 1.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Start with no samples of shape `shape`."""
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("var", torch.ones(shape, dtype=torch.float64))

    @torch.no_grad()
    def update(self, batch: Tensor) -> None:
        """Take in a batch of samples.

        ``mean' = mean + delta * n / (count + n)``, and the sums of squares add up with
        ``delta^2 * count * n / (count + n)``, where delta is the difference of the means.

        Args:
            batch: (n, *shape) of any float dtype, n >= 1.
        """
        batch = batch.to(torch.float64)
        n = batch.shape[0]
        batch_mean = batch.mean(0)
        batch_var = (batch - batch_mean).square().mean(0)
        total = self.count + n
        delta = batch_mean - self.mean
        # The variance of an empty stream is the placeholder 1, which count 0 weighs with nothing.
        sum_of_squares = self.var * self.count + batch_var * n + delta**2 * (self.count * n / total)
        self.mean += delta * (n / total)
        self.var.copy_(sum_of_squares / total)
        self.count.copy_(total)
