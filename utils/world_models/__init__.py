"""Modules that learn how an environment goes on; they hold no losses of an algorithm."""

from utils.world_models.divergence import balanced_divergence
from utils.world_models.heads import Head, ScalarHead, build_scalar_head
from utils.world_models.latents import CategoricalLatent, GaussianLatent, Latent
from utils.world_models.rssm import RSSM, Imagined, Observed, State
from utils.world_models.settings import WorldModelSettings
from utils.world_models.world_model import WorldModel

__all__ = [
    "RSSM",
    "CategoricalLatent",
    "GaussianLatent",
    "Head",
    "Imagined",
    "Latent",
    "Observed",
    "ScalarHead",
    "State",
    "WorldModel",
    "WorldModelSettings",
    "balanced_divergence",
    "build_scalar_head",
]
