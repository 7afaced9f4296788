"""Multi-layer perceptrons."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn

from utils.models.initialization import orthogonal_

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
}


def build_mlp(
    input_dim: int, hidden_dims: Sequence[int], *, activation: str, orthogonal_init: bool
) -> nn.Sequential:
    """Build hidden layers, each a Linear and an activation; there is no output layer.

    Args:
        input_dim: Width of the input.
        hidden_dims: Width of each hidden layer; empty for the identity.
        activation: Key of `ACTIVATIONS`.
        orthogonal_init: Orthogonal weights with gain sqrt(2) and zero biases; torch's own
            initialisation otherwise.

    Returns:
        A module from (B, input_dim) to (B, hidden_dims[-1] or input_dim).
    """
    layers: list[nn.Module] = []
    width = input_dim
    for hidden in hidden_dims:
        linear = nn.Linear(width, hidden)
        if orthogonal_init:
            orthogonal_(linear, gain=math.sqrt(2.0))
        layers += [linear, ACTIVATIONS[activation]()]
        width = hidden
    return nn.Sequential(*layers)
