"""Convolutions of 5 x 5 beside a halving or doubling of pictures, at the lower resolution.

A place of the lower resolution stands for 2 x 2 places, its phases, of the higher one. What a
kernel of 5 x 5 reads there lies in 3 x 3 places here, so the same sums are those of a convolution
of 3 x 3 with four times as many channels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

KERNEL = 5
_MOST_CHANNELS = 8
"""Of pictures of which a GPU reads all phases at once: few leave tensor cores idle as they are."""

# Row by row: which of the five weights go to each of the three places, for both phases.
_OF_DOUBLED = (
    ((1, 1, 0, 0, 0), (0, 0, 1, 1, 0), (0, 0, 0, 0, 1)),
    ((1, 0, 0, 0, 0), (0, 1, 1, 0, 0), (0, 0, 0, 1, 1)),
)


class DoublingConv2d(nn.Conv2d):
    """A convolution of 5 x 5 of pictures whose places are each repeated 2 x 2 times before.

    With 9 products in place of 25 for each place and channel of the result.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        """Draw weights of 5 x 5 as `torch.nn.Conv2d` does."""
        super().__init__(in_channels, out_channels, KERNEL, padding="same")
        weights_of = torch.tensor(_OF_DOUBLED, dtype=torch.float32)
        self.register_buffer("weights_of", weights_of, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, out_channels, 2 H, 2 W)."""
        bias = self.bias
        assert bias is not None
        n_added = self.out_channels % 2 if x.is_cuda else 0  # tensor cores read channels by eights
        n = self.out_channels + n_added
        with torch.autocast(x.device.type, enabled=False):
            m, weight = self.weights_of, F.pad(self.weight, (0, 0, 0, 0, 0, 0, 0, n_added))
            weight = torch.einsum("pak,oikl,qbl->pqoiab", m, weight, m).flatten(0, 2)
        y = F.conv2d(x, weight, F.pad(bias, (0, n_added)).repeat(4), padding=1)
        return _phases_to_places(y, n, n_kept=self.out_channels)


class PhasedConv2d(nn.Conv2d):
    """A convolution of 5 x 5; that of pictures with few channels reads all phases at once.

    That takes 36 products in place of 25, 11 of them with zeros, but gives a GPU's tensor cores
    four times as many channels at once.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        """Draw weights of 5 x 5 as `torch.nn.Conv2d` does."""
        super().__init__(in_channels, out_channels, KERNEL, padding="same")

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, out_channels, H, W)."""
        if x.is_cuda and self.in_channels <= _MOST_CHANNELS:
            return self.by_phases(x)
        return super().forward(x)

    def by_phases(self, x: Tensor) -> Tensor:
        """Do what `forward` does, of pictures of even sides."""
        bias = self.bias
        assert bias is not None
        n_added = self.in_channels % 2
        x = F.pad(x, (0, 0, 0, 0, 0, n_added))
        places = x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2))  # (B, C, H, 2, W, 2)
        places = places.permute(0, 2, 4, 3, 5, 1).flatten(3).movedim(-1, 1)
        weight = F.pad(self.weight, (0, 0, 0, 0, 0, n_added))
        rows = torch.stack([F.pad(weight, (0, 0, p, 1 - p)) for p in range(2)])
        both = torch.stack([F.pad(rows, (q, 1 - q)) for q in range(2)], dim=1)  # (2, 2, O, I, 6, 6)
        taps = both.unflatten(5, (3, 2)).unflatten(4, (3, 2))  # (2, 2, O, I, 3, 2, 3, 2)
        weight = taps.permute(0, 1, 2, 5, 7, 3, 4, 6).flatten(3, 5).flatten(0, 2)
        y = F.conv2d(places, weight, bias.repeat(4), padding=1)
        return _phases_to_places(y, self.out_channels, n_kept=self.out_channels)


def _phases_to_places(y: Tensor, n_channels: int, *, n_kept: int) -> Tensor:
    """Lay phases (B, 2 * 2 * C, H, W) side by side: (B, n_kept, 2 H, 2 W), channels last in memory.

    With the channels last all the way, there is one copy forward and one back.
    """
    phases = y.movedim(1, -1).unflatten(3, (2, 2, n_channels))  # (B, H, W, 2, 2, C)
    places = phases.permute(0, 1, 3, 2, 4, 5).flatten(3, 4).flatten(1, 2)
    return places[..., :n_kept].movedim(-1, 1)
