"""The variational autoencoder (V): a picture as a few normally distributed numbers, and back."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.world_models.decoder import Decoded
from utils.world_models.observation_parts import Observation, ObservationParts
from utils.world_models.pictures import StridedDecoder, StridedEncoder, picture_loss

PICTURE_SIDE = 64


def find_picture(space: gym.Space) -> ObservationParts:
    """Return the parts of a space that is one picture of 64 x 64.

    Raises:
        ConfigError: It is something else.
    """
    parts = ObservationParts(space)
    if len(parts.pictures) != 1 or parts.width:
        raise ConfigError(
            f"world_models sees one picture, and the observation space is {space}: show it one "
            "(env_wrappers: [{id: PixelObservation}], resize_obs: [64, 64]), or use dreamer"
        )
    side = parts.pictures[0].shape[1:]
    if side != (PICTURE_SIDE, PICTURE_SIDE):
        raise ConfigError(
            f"world_models sees pictures of 64 x 64 pixels, not {side[0]} x {side[1]}: set "
            "resize_obs: [64, 64]"
        )
    return parts


class VaeEncoder(nn.Module):
    """Four convolutions, then mean and logarithm of the variance of each number.

    Ha and Schmidhuber 2018, "World models", appendix A.1; of depth 32 it has the paper's shapes:
    32, 64, 128 and 256 channels, 1024 features.
    """

    def __init__(self, space: gym.Space, *, n_latents: int, depth: int) -> None:
        """Build the layers.

        Args:
            space: Single observation space.
            n_latents: Numbers that a picture becomes (D).
            depth: Channels of the first convolution.

        Raises:
            ConfigError: The space is no picture of 64 x 64.
        """
        super().__init__()
        self.parts = find_picture(space)
        shape = self.parts.pictures[0].shape
        self.layers = StridedEncoder(shape, depth=depth, activation="relu")
        self.output = nn.Linear(self.layers.output_dim, 2 * n_latents)

    def forward(self, observation: Observation, *, n_leading: int) -> Tensor:
        """Map observations (..., C, 64, 64) to means and log-variances, (..., 2 D) float32."""
        picture = self.parts.picture(self.parts.pictures[0], observation)
        leading = picture.shape[:n_leading]
        features = self.layers(picture.flatten(0, n_leading - 1))
        return self.output(features).unflatten(0, leading)


class VaeDecoder(nn.Module):
    """The way back of `VaeEncoder`; it reads the last D of the features of a state."""

    vector = None
    """There is nothing but a picture."""

    def __init__(self, space: gym.Space, *, n_latents: int, depth: int) -> None:
        """Build the layers; see `VaeEncoder`."""
        super().__init__()
        self.parts = find_picture(space)
        self._n_latents = n_latents
        shape = self.parts.pictures[0].shape
        self.layers = StridedDecoder(n_latents, shape, depth=depth, activation="relu")

    def decode(self, latent: Tensor) -> Tensor:
        """Map (B, D) to pictures (B, C, 64, 64) in [0, 1]."""
        return (self.layers(latent) - 0.5).sigmoid()

    def forward(self, features: Tensor) -> Decoded:
        """Map features of states (..., F) to what would be seen."""
        latent = features[..., -self._n_latents :]
        picture = self.decode(latent.flatten(0, -2)).unflatten(0, features.shape[:-1])
        return Decoded([picture], None)

    def loss(self, decoded: Decoded, observation: Observation) -> dict[str, Tensor]:
        """Return the squared error summed over the pixels, (...), as "picture"."""
        target = self.parts.picture(self.parts.pictures[0], observation)
        return {"picture": picture_loss(decoded.pictures[0], target)}

    def numbers(self, decoded: Decoded) -> None:
        """Return None: nothing is seen but a picture."""
        del decoded


def sample_normal(parameters: Tensor, noise: Tensor | None) -> Tensor:
    """Return values (..., D) of normal distributions; their means without noise.

    Args:
        parameters: (..., 2 D) means, then log-variances.
        noise: (..., D) standard normal, or None.
    """
    mean, log_var = parameters.chunk(2, dim=-1)
    return mean if noise is None else mean + torch.exp(0.5 * log_var) * noise
