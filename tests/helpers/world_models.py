"""World models small enough for a test."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from utils.world_models import RSSM, State, WorldModelSettings
from utils.world_models.world_model import build_latent, build_rssm


def small_settings(**changes: object) -> WorldModelSettings:
    """Return the published shape in small."""
    values = {
        "deter": 16,
        "hidden": 8,
        "choices": 3,
        "classes": 4,
        "latent": "categorical",
        "uniform_share": 0.01,
        "min_std": 0.1,
        "dynamics": "block_gru",
        "blocks": 4,
        "dynamics_layers": 1,
        "prior_layers": 2,
        "posterior_layers": 1,
        "units": 8,
        "depth": 2,
        "pictures": "pooled",
        "encoder_layers": 3,
        "decoder_layers": 3,
        "reward_layers": 1,
        "continue_layers": 1,
        "numbers": "two_hot",
        "bins": 255,
        "norm": "rms",
        "activation": "silu",
    }
    return WorldModelSettings(**(values | changes))


def mixed_space() -> gym.spaces.Dict:
    """Return a space with a part of every kind; neither Discrete counts from 0."""
    return gym.spaces.Dict(
        {
            "camera": gym.spaces.Box(0, 255, (3, 64, 64), np.uint8),
            "speed": gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "gear": gym.spaces.Discrete(3, start=-1),
            "knobs": gym.spaces.MultiDiscrete([2, 3], start=[5, 10]),
            "lamps": gym.spaces.MultiBinary(2),
        }
    )


def small_rssm(
    *, n_actions: int = 2, embedding: int = 5, double: bool = False, **changes: object
) -> RSSM:
    """Build a model whose every weight, biases and norms included, has its say."""
    settings = small_settings(**changes)
    rssm = build_rssm(build_latent(settings), n_actions, settings, embedding=embedding)
    with torch.no_grad():
        for parameter in rssm.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return rssm.double() if double else rssm


def random_sequences(
    rssm: RSSM, n_steps: int, n: int, *, n_actions: int = 2, embedding: int = 5, seed: int = 0
) -> tuple[State, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return arguments of `RSSM.observe`, in the dtype of the model; no episode begins.

    As in training, flags and actions are views: a buffer holds one sequence after the other.
    """
    generator = torch.Generator().manual_seed(seed)
    dtype = rssm.posterior.output.weight.dtype

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    before = State(draw(n, rssm.deter), draw(n, rssm.latent.width))
    noise = rssm.latent.draw_noise((n_steps, n), generator).to(dtype)
    is_first = torch.zeros(n, n_steps, dtype=torch.bool).t()
    action = draw(n, n_steps, n_actions).transpose(0, 1)
    return before, action, draw(n_steps, n, embedding), is_first, noise
