"""Several critics of one shape, evaluated at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.models.encoder import Observation, ObservationEncoder
from utils.models.mlp import ACTIVATIONS
from utils.spaces import is_picture


class CriticEnsemble(nn.Module):
    """E separate networks that value actions; their weights are stacked, (E, in, out).

    One network's layers are an Adam step's worth of small operations; stacked, all networks take
    as many as one. Convolutions, where there are pictures, are shared by all of them.
    """

    def __init__(
        self,
        observation_space: gym.Space,
        *,
        n_critics: int,
        action_dim: int,
        output_dim: int,
        hidden_dims: Sequence[int],
        activation: str,
        feature_dim: int,
        layer_norm: bool = False,
    ) -> None:
        """Build the networks, each with torch's own initialisation of linear layers.

        Args:
            observation_space: Single observation space.
            n_critics: Number of networks E.
            action_dim: Width of the actions that are valued, A; 0 for a value of every choice.
            output_dim: Outputs of each network: 1, or the number of choices.
            hidden_dims: Width of each hidden layer.
            activation: Key of `ACTIVATIONS`.
            feature_dim: Width of the layer behind the convolutions of a picture.
            layer_norm: Normalise each hidden layer before its activation.
        """
        super().__init__()
        self.encoder = ObservationEncoder(
            observation_space, feature_dim=feature_dim, orthogonal_init=False
        )
        self.n_critics = n_critics
        self.activation = ACTIVATIONS[activation]()
        self.activation_name = activation
        widths = [self.encoder.output_dim + action_dim, *hidden_dims, output_dim]
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for width_in, width_out in itertools.pairwise(widths):
            layers = [nn.Linear(width_in, width_out) for _ in range(n_critics)]
            weight = torch.stack([layer.weight.detach().T for layer in layers])
            bias = torch.stack([layer.bias.detach() for layer in layers])
            self.weights.append(nn.Parameter(weight.contiguous()))
            self.biases.append(nn.Parameter(bias.unsqueeze(1)))
        self.norms = nn.ParameterList()
        if layer_norm:
            self.norms.extend(
                nn.Parameter(torch.ones(n_critics, 1, width)) for width in hidden_dims
            )

    def forward(self, observation: Observation, action: Tensor | None = None) -> Tensor:
        """Return the value of each action by each critic.

        Args:
            observation: (B, ...) normalised.
            action: (B, A) in [-1, 1]; None where every choice is valued.

        Returns:
            (E, B), or (E, B, n) values of n choices.
        """
        features = self.encoder(observation)
        return self.of_features(features, action)

    def of_features(self, features: Tensor, action: Tensor | None) -> Tensor:
        """Return the same from encoded observations (B, F)."""
        inputs = features if action is None else torch.cat([features, action], dim=1)
        hidden = inputs.expand(self.n_critics, *inputs.shape)
        last = len(self.weights) - 1
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, hidden, weight)
            if index < last:
                if len(self.norms):
                    hidden = nn.functional.layer_norm(hidden, hidden.shape[-1:])
                    hidden = hidden * self.norms[index]
                hidden = self.activation(hidden)
        return hidden.squeeze(2) if action is not None else hidden


def has_picture(space: gym.Space) -> bool:
    """Say whether convolutions read any part of an observation."""
    parts = space.spaces.values() if isinstance(space, gym.spaces.Dict) else [space]
    return any(is_picture(part) for part in parts)
