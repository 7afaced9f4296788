"""V and M together, in the form of a world model that policies, dreams and films know."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
from torch import Tensor, nn
from torch.nn import functional as F

from utils.distributions.normal_mixture import NormalMixture
from utils.mdn_rnn.recurrent import MdnRnn, VaeLatent
from utils.mdn_rnn.vae import VaeDecoder, VaeEncoder


@dataclass(frozen=True, kw_only=True, slots=True)
class MdnRnnSettings:
    """Widths and kinds; see `utils.config.algos.world_models` for what each means."""

    latents: int
    depth: int
    units: int
    mixtures: int
    joint_mixture: bool


class RewardOutput(nn.Module):
    """The reward that arrives with a state, linear in the LSTM's output."""

    def __init__(self, units: int) -> None:
        """Build the layer."""
        super().__init__()
        self._units = units
        self.layer = nn.Linear(units, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Map features of states (..., F) to (..., 1)."""
        return self.layer(features[..., : self._units])

    def mean(self, output: Tensor) -> Tensor:
        """Return the reward that outputs (..., 1) stand for, (...)."""
        return output.squeeze(-1)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the squared error, (...)."""
        return (output.squeeze(-1) - target).square()


class GoesOnOutput(nn.Module):
    """Whether an episode is not over with a state, linear in the LSTM's output."""

    def __init__(self, units: int) -> None:
        """Build the layer."""
        super().__init__()
        self._units = units
        self.layer = nn.Linear(units, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Map features of states (..., F) to logits of going on, (..., 1)."""
        return self.layer(features[..., : self._units])

    def probability(self, output: Tensor) -> Tensor:
        """Return the probability that outputs (..., 1) stand for, (...)."""
        return output.squeeze(-1).sigmoid()

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the binary cross-entropy with going on (...), (...)."""
        return F.binary_cross_entropy_with_logits(
            output.squeeze(-1), target.to(output.dtype), reduction="none"
        )


class MdnRnnModel(nn.Module):
    """Encoder, MDN-RNN, decoder, and the outputs for reward and end.

    It has the parts of `utils.world_models.WorldModel`, `rssm` being the MDN-RNN.
    """

    def __init__(self, space: gym.Space, n_actions: int, settings: MdnRnnSettings) -> None:
        """Build the parts.

        Args:
            space: Single observation space.
            n_actions: Width of an encoded action.
            settings: Of the parts.

        Raises:
            ConfigError: The space is no picture of 64 x 64.
        """
        super().__init__()
        shape = {"n_latents": settings.latents, "depth": settings.depth}
        self.encoder = VaeEncoder(space, **shape)
        self.decoder = VaeDecoder(space, **shape)
        mixture = NormalMixture(
            settings.latents, settings.mixtures, is_joint=settings.joint_mixture
        )
        self.rssm = MdnRnn(VaeLatent(mixture), n_actions, units=settings.units)
        self.reward = RewardOutput(settings.units)
        self.goes_on = GoesOnOutput(settings.units)

    @property
    def vision(self) -> nn.ModuleList:
        """The variational autoencoder (V)."""
        return nn.ModuleList([self.encoder, self.decoder])

    @property
    def memory(self) -> nn.ModuleList:
        """The recurrent model (M) with all its outputs."""
        return nn.ModuleList([self.rssm, self.reward, self.goes_on])
