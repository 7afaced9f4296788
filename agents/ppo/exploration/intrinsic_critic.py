"""The critic of the bonus: how much that is new lies ahead."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
from torch import Tensor, nn

from utils.models import ObservationEncoder, build_mlp, linear_head
from utils.policies.actor_critic import CRITIC_HEAD_GAIN, Observation


class IntrinsicCritic(nn.Module):
    """V of the intrinsic return; reads observations as the policy does, with layers of its own."""

    def __init__(
        self,
        observation_space: gym.Space,
        *,
        hidden_dims: Sequence[int],
        activation: str,
        feature_dim: int,
    ) -> None:
        """Build the networks; weights are drawn from torch's global generator.

        Args:
            observation_space: Single observation space.
            hidden_dims: Units of the hidden layers.
            activation: Key of `utils.models.ACTIVATIONS`.
            feature_dim: Units after the convolutions of a picture.
        """
        super().__init__()
        self.encoder = ObservationEncoder(
            observation_space, feature_dim=feature_dim, orthogonal_init=True
        )
        self.layers = build_mlp(
            self.encoder.output_dim, hidden_dims, activation=activation, orthogonal_init=True
        )
        width = [self.encoder.output_dim, *hidden_dims][-1]
        self.head = linear_head(width, 1, gain=CRITIC_HEAD_GAIN)

    def forward(self, observation: Observation) -> Tensor:
        """Map normalised observations (B, ...) to V, (B,)."""
        return self.head(self.layers(self.encoder(observation))).squeeze(-1)
