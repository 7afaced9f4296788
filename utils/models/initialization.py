"""Initial weights."""

from __future__ import annotations

from torch import Tensor, nn


def orthogonal_(layer: nn.Linear | nn.Conv2d, *, gain: float) -> None:
    """Fill a layer in place: orthogonal weights times `gain`, zero bias (Saxe et al. 2014)."""
    nn.init.orthogonal_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def orthogonal_blocks_(weight: Tensor, *, n_blocks: int) -> None:
    """Fill stacked weights (K, in, n_blocks * out) in place, each block (in, out) orthogonal."""
    for matrix in weight.unbind(0):
        for block in matrix.detach().chunk(n_blocks, dim=-1):
            nn.init.orthogonal_(block)
