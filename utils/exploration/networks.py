"""From whitened observations to features."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from utils.models import NatureCNN, build_mlp, linear_head


class FeatureNetwork(nn.Module):
    """A CNN for each picture, all parts side by side, ReLU layers, a linear layer."""

    def __init__(
        self, shapes: Sequence[tuple[int, ...]], hidden_dims: Sequence[int], *, output_dim: int
    ) -> None:
        """Build the layers with orthogonal weights of gain sqrt(2).

        Args:
            shapes: Of the parts that `Whitening` gives: (d,), or (C, H, W) for a picture.
            hidden_dims: Units of the hidden layers; empty for a linear map (of CNN features).
            output_dim: Numbers of the features; also those of each picture's CNN.
        """
        super().__init__()
        self.cnns = nn.ModuleList(
            NatureCNN(shape, feature_dim=output_dim, orthogonal_init=True)
            if len(shape) == 3
            else nn.Identity()
            for shape in shapes
        )
        width = sum(output_dim if len(shape) == 3 else shape[0] for shape in shapes)
        self.head = dense_network(width, hidden_dims, output_dim=output_dim)

    def forward(self, parts: Sequence[Tensor]) -> Tensor:
        """Map parts (B, *shape) to features (B, output_dim)."""
        encoded = [cnn(part) for cnn, part in zip(self.cnns, parts, strict=True)]
        return self.head(encoded[0] if len(encoded) == 1 else torch.cat(encoded, dim=-1))


def dense_network(input_dim: int, hidden_dims: Sequence[int], *, output_dim: int) -> nn.Sequential:
    """Build ReLU layers and a linear output, (B, input_dim) to (B, output_dim)."""
    hidden = build_mlp(input_dim, hidden_dims, activation="relu", orthogonal_init=True)
    width = [input_dim, *hidden_dims][-1]
    return nn.Sequential(hidden, linear_head(width, output_dim, gain=2.0**0.5))
