"""A model of an environment: what is seen, what follows, what is paid, and whether it ends."""

from __future__ import annotations

import gymnasium as gym
from torch import nn

from utils.world_models.decoder import Decoder
from utils.world_models.dynamics import BlockGRU, PlainGRU
from utils.world_models.encoder import Encoder
from utils.world_models.heads import ContinueHead, build_scalar_head
from utils.world_models.latents import CategoricalLatent, GaussianLatent, Latent
from utils.world_models.rssm import RSSM
from utils.world_models.settings import WorldModelSettings


class WorldModel(nn.Module):
    """Encoder, recurrent state-space model, and the heads that read its states."""

    def __init__(
        self,
        space: gym.Space,
        n_actions: int,
        settings: WorldModelSettings,
        *,
        predicts_end: bool = True,
    ) -> None:
        """Build the parts.

        Args:
            space: Single observation space.
            n_actions: Width of an encoded action.
            settings: Shape of the parts.
            predicts_end: Whether there is a head for the end of episodes.

        Raises:
            ConfigError: An observation that it cannot read.
        """
        super().__init__()
        self.encoder = Encoder(space, settings)
        latent = build_latent(settings)
        self.rssm = build_rssm(latent, n_actions, settings, embedding=self.encoder.output_dim)
        self.decoder = Decoder(space, settings, stoch=latent.width)
        kinds = {"norm": settings.norm, "activation": settings.activation}
        n_features = self.rssm.n_features
        self.reward = build_scalar_head(
            settings.numbers,
            n_features,
            n_bins=settings.bins,
            width=settings.units,
            n_layers=settings.reward_layers,
            **kinds,
        )
        self.goes_on: ContinueHead | None = None
        if predicts_end:
            self.goes_on = ContinueHead(
                n_features, width=settings.units, n_layers=settings.continue_layers, **kinds
            )


def build_latent(settings: WorldModelSettings) -> Latent:
    """Build the family of stochastic states."""
    if settings.latent == "gaussian":
        return GaussianLatent(settings.choices, min_std=settings.min_std)
    return CategoricalLatent(
        settings.choices, settings.classes, uniform_share=settings.uniform_share
    )


def build_rssm(
    latent: Latent, n_actions: int, settings: WorldModelSettings, *, embedding: int
) -> RSSM:
    """Build dynamics, prior and posterior."""
    kinds = {"norm": settings.norm, "activation": settings.activation}
    sizes = {
        "deter": settings.deter,
        "stoch": latent.width,
        "n_actions": n_actions,
        "hidden": settings.hidden,
    }
    dynamics: nn.Module = (
        BlockGRU(n_blocks=settings.blocks, n_layers=settings.dynamics_layers, **sizes, **kinds)
        if settings.dynamics == "block_gru"
        else PlainGRU(**sizes, **kinds)
    )
    return RSSM(
        dynamics,
        latent,
        embedding=embedding,
        hidden=settings.hidden,
        n_prior_layers=settings.prior_layers,
        n_posterior_layers=settings.posterior_layers,
        **kinds,
    )
