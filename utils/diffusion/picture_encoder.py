"""Pictures to features: a residual network without batch norms, and where in them things are."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_CHANNELS_OF_A_GROUP = 16


def crop_sides(shape: tuple[int, int, int], fraction: float) -> tuple[int, int]:
    """Return height and width of the part of pictures (C, H, W) that is looked at."""
    return max(1, round(shape[1] * fraction)), max(1, round(shape[2] * fraction))


def crop_middle(picture: Tensor, sides: tuple[int, int]) -> Tensor:
    """Cut the middle out of pictures (..., H, W)."""
    top, left = ((picture.shape[k] - sides[k]) // 2 for k in (-2, -1))
    return picture[..., top : top + sides[0], left : left + sides[1]]


def crop_at_random(picture: Tensor, sides: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Cut a part out of pictures (B, n, C, H, W), the same place in all n of a row.

    Args:
        picture: (B, n, C, H, W)
        sides: Height and width of the part.
        generator: On the CPU.
    """
    n_rows, (height, width) = len(picture), picture.shape[-2:]
    top = torch.randint(height - sides[0] + 1, (n_rows, 1), generator=generator)
    left = torch.randint(width - sides[1] + 1, (n_rows, 1), generator=generator)
    rows = (top + torch.arange(sides[0])).to(picture.device)
    columns = (left + torch.arange(sides[1])).to(picture.device)
    batch = torch.arange(n_rows, device=picture.device)[:, None, None]
    # Indices around a slice come first in what is picked: (B, h, w, n, C).
    picked = picture[batch, :, :, rows[:, :, None], columns[:, None, :]]
    return picked.permute(0, 3, 4, 1, 2)


def _norm(width: int) -> nn.GroupNorm:
    return nn.GroupNorm(max(1, width // _CHANNELS_OF_A_GROUP), width)


class _Block(nn.Module):
    """Two convolutions of 3 x 3 and a way past them (He et al. 2016, ResNet-18)."""

    def __init__(self, n_in: int, n_out: int, *, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False),
            _norm(n_out),
            nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, padding=1, bias=False),
            _norm(n_out),
        )
        self.skip: nn.Module = nn.Identity()
        if stride > 1 or n_in != n_out:
            self.skip = nn.Sequential(
                nn.Conv2d(n_in, n_out, 1, stride=stride, bias=False), _norm(n_out)
            )

    def forward(self, hidden: Tensor) -> Tensor:
        return torch.relu(self.layers(hidden) + self.skip(hidden))


class SpatialSoftmax(nn.Module):
    """The mean place of each channel's weight, x and y in [-1, 1].

    Levine et al. 2016, "End-to-end training of deep visuomotor policies", section 5.1.
    """

    def forward(self, maps: Tensor) -> Tensor:
        """Map (B, K, H, W) to (B, 2 K): all x, then all y."""
        height, width = maps.shape[-2:]
        share = maps.flatten(2).softmax(dim=-1).unflatten(2, (height, width))
        y = torch.linspace(-1.0, 1.0, height, device=maps.device)
        x = torch.linspace(-1.0, 1.0, width, device=maps.device)
        return torch.cat([(share.sum(2) * x).sum(-1), (share.sum(3) * y).sum(-1)], dim=-1)


class PictureEncoder(nn.Module):
    """ResNet-18 with group norms and the places of its features, for pictures of one size."""

    def __init__(
        self, shape: tuple[int, int, int], *, width: int, n_keypoints: int, crop_fraction: float
    ) -> None:
        """Build the layers.

        Args:
            shape: (C, H, W)
            width: Channels of the first of four stages; each has twice those of the one before.
            n_keypoints: Places that are found.
            crop_fraction: Share of height and width that is looked at, (0, 1].
        """
        super().__init__()
        self.sides = crop_sides(shape, crop_fraction)
        layers: list[nn.Module] = [
            nn.Conv2d(shape[0], width, 7, stride=2, padding=3, bias=False),
            _norm(width),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        ]
        for stage in range(4):
            n_in, n_out = width * 2 ** max(0, stage - 1), width * 2**stage
            layers += [_Block(n_in, n_out, stride=2 if stage else 1)]
            layers += [_Block(n_out, n_out, stride=1)]
        self.layers = nn.Sequential(*layers)
        self.keypoints = nn.Conv2d(width * 8, n_keypoints, 1)
        self.place = SpatialSoftmax()
        self.output_dim = 2 * n_keypoints
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, picture: Tensor) -> Tensor:
        """Map (B, C, H, W) uint8, whole or cut to `sides`, to (B, output_dim)."""
        part = crop_middle(picture, self.sides).to(torch.float32) / 127.5 - 1.0
        return self.place(self.keypoints(self.layers(part)))
