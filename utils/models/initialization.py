"""Initial weights."""

from __future__ import annotations

from torch import nn


def orthogonal_(layer: nn.Linear | nn.Conv2d, *, gain: float) -> None:
    """Fill a layer in place: orthogonal weights times `gain`, zero bias (Saxe et al. 2014)."""
    nn.init.orthogonal_(layer.weight, gain)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
