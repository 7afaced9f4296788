"""Multi-layer perceptrons: one, or two of the same shape side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

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


class SharedTrunk(nn.Module):
    """One MLP whose features both the actor and the critic read."""

    def __init__(
        self, input_dim: int, hidden_dims: Sequence[int], *, activation: str, orthogonal_init: bool
    ) -> None:
        """Build the layers; see `build_mlp`."""
        super().__init__()
        self.layers = build_mlp(
            input_dim, hidden_dims, activation=activation, orthogonal_init=orthogonal_init
        )

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Map (B, input_dim) to the actor's and the critic's features, the same tensor twice."""
        hidden = self.layers(features)
        return hidden, hidden

    def streams(self, features: Tensor) -> Tensor:
        """Map (B, input_dim) to the features of the one stream that there is, (1, B, H)."""
        return self.layers(features).unsqueeze(0)

    def critic_features(self, features: Tensor) -> Tensor:
        """Map (B, input_dim) to what the critic's head reads."""
        return self.layers(features)


class TwinTrunks(nn.Module):
    """Two separate MLPs of one shape, actor and critic, evaluated as one batch of two.

    They share nothing; stacking their weights, (2, in, out), halves the number of operations,
    which is what a small network's time goes into.
    """

    def __init__(
        self, input_dim: int, hidden_dims: Sequence[int], *, activation: str, orthogonal_init: bool
    ) -> None:
        """Build both, each initialised as by `build_mlp`."""
        super().__init__()
        trunks = [
            build_mlp(
                input_dim, hidden_dims, activation=activation, orthogonal_init=orthogonal_init
            )
            for _ in range(2)
        ]
        layers = [[layer for layer in trunk if isinstance(layer, nn.Linear)] for trunk in trunks]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.stack([actor.weight.detach().T, critic.weight.detach().T]))
            for actor, critic in zip(*layers, strict=True)
        )
        self.biases = nn.ParameterList(
            nn.Parameter(torch.stack([actor.bias.detach(), critic.bias.detach()]).unsqueeze(1))
            for actor, critic in zip(*layers, strict=True)
        )
        self.activation_name = activation
        self.activation = ACTIVATIONS[activation]()

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Map (B, input_dim) to the actor's and the critic's features."""
        actor, critic = self.streams(features).unbind(0)
        return actor, critic

    def streams(self, features: Tensor) -> Tensor:
        """Map (B, input_dim) to the actor's and the critic's features as one tensor, (2, B, H)."""
        hidden = features.expand(2, *features.shape)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            hidden = self.activation(torch.baddbmm(bias, hidden, weight))
        return hidden

    def critic_features(self, features: Tensor) -> Tensor:
        """Map (B, input_dim) to what the critic's head reads, without the actor's part."""
        hidden = features
        for weight, bias in zip(self.weights, self.biases, strict=True):
            hidden = self.activation(torch.addmm(bias[1], hidden, weight[1]))
        return hidden
