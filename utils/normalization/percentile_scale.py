"""How far apart returns lie, so that the worth of entropy need not be set anew for each task."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class PercentileScale(nn.Module):
    """Moving averages of two percentiles; their distance, but at least 1, is the scale.

    Hafner et al. 2025, "Mastering diverse control tasks through world models", equations 6 and 7.
    The averages begin at 0 and are not corrected for it.
    """

    def __init__(self, *, low: float = 0.05, high: float = 0.95, rate: float = 0.01) -> None:
        """Begin without any.

        Args:
            low: Lower percentile, in [0, 1].
            high: Upper percentile.
            rate: Share of the newest batch in the averages, in (0, 1].
        """
        super().__init__()
        self._rate = rate
        self.register_buffer("_levels", torch.tensor([low, high]), persistent=False)
        self.register_buffer("percentiles", torch.zeros(2))

    @torch.no_grad()
    def update(self, returns: Tensor) -> None:
        """Take in a batch of any shape."""
        values = returns.detach().float().reshape(-1)
        self.percentiles.lerp_(torch.quantile(values, self._levels), self._rate)

    def scale(self) -> Tensor:
        """Return ``max(1, high - low)``, ()."""
        low, high = self.percentiles.unbind()
        return (high - low).clamp_min(1.0)
