"""Convolutional encoders of pictures."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from utils.models.initialization import orthogonal_


class NatureCNN(nn.Module):
    """The convolutional network of Mnih et al. 2015, "Human-level control", for any picture size.

    Three layers, (32, 8, stride 4), (64, 4, stride 2), (64, 3, stride 1), and a linear layer unless
    somebody else reads the convolutions; ReLU after each.
    """

    def __init__(
        self, shape: tuple[int, int, int], *, feature_dim: int | None, orthogonal_init: bool
    ) -> None:
        """Build the layers for pictures of one size.

        Args:
            shape: (C, H, W), H and W at least 36.
            feature_dim: Width of the linear layer; None for the convolutions alone.
            orthogonal_init: Orthogonal weights with gain sqrt(2) and zero biases.
        """
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(shape[0], 32, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        with torch.no_grad():
            width = self.convolutions(torch.zeros(1, *shape)).shape[1]
        self.output_dim = feature_dim or width
        self.output = (
            nn.Identity()
            if feature_dim is None
            else nn.Sequential(nn.Linear(width, feature_dim), nn.ReLU())
        )
        if orthogonal_init:
            for layer in self.modules():
                if isinstance(layer, nn.Conv2d | nn.Linear):
                    orthogonal_(layer, gain=math.sqrt(2.0))

    def forward(self, picture: Tensor) -> Tensor:
        """Map (B, C, H, W) float pictures in [0, 1] to (B, output_dim) features."""
        return self.output(self.convolutions(picture))
