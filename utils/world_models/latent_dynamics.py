"""A model that predicts latent states, rewards and values, and reconstructs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.world_models.action_prior import NoisyPrior, SquashedPrior
from utils.world_models.latent_encoder import LatentEncoder
from utils.world_models.latent_layers import SimplexNorm, begin_, build_layers
from utils.world_models.number_codes import build_number_code
from utils.world_models.value_ensemble import ValueEnsemble


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentSettings:
    """Widths, depths and kinds; see `utils.config.algos.tdmpc` for what each means."""

    encoder_dim: int
    encoder_layers: int
    mlp_dim: int
    latent_dim: int
    n_critics: int
    channels: int
    simplex_dim: int
    norm: Literal["layer", "none"]
    activation: Literal["mish", "elu"]
    numbers: Literal["two_hot", "plain"]
    begins: Literal["normal", "orthogonal"]
    prior: Literal["squashed_normal", "noisy"]


class LatentDynamics(nn.Module):
    """Encoder, dynamics, reward, policy prior, critics, and the end of episodes if asked for.

    Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", equation 3.
    Latent states are (..., L), actions (..., A) in [-1, 1].
    """

    def __init__(
        self,
        observation_space: gym.Space,
        n_actions: int,
        settings: LatentSettings,
        *,
        predicts_end: bool,
    ) -> None:
        """Build and begin all networks.

        Args:
            observation_space: Single observation space.
            n_actions: Numbers of an action (A).
            settings: Of the networks.
            predicts_end: Whether episodes may terminate.

        Raises:
            ConfigError: An observation that it cannot read.
        """
        super().__init__()
        s = settings
        self.latent_dim, self.n_actions = s.latent_dim, n_actions
        self.is_normed_mish = s.norm == "layer" and s.activation == "mish"
        kinds = {"norm": s.norm, "activation": s.activation}
        hidden, joint = [s.mlp_dim, s.mlp_dim], s.latent_dim + n_actions
        self.number = build_number_code(s.numbers)
        self.encoder = LatentEncoder(
            observation_space,
            width=s.encoder_dim,
            n_layers=s.encoder_layers,
            latent_dim=s.latent_dim,
            channels=s.channels,
            group=s.simplex_dim,
            **kinds,
        )
        output = SimplexNorm(s.simplex_dim) if s.simplex_dim else None
        self.dynamics = build_layers([joint, *hidden, s.latent_dim], output=output, **kinds)
        self.reward = build_layers([joint, *hidden, self.number.n_outputs], **kinds)
        self.end: nn.Module | None = None
        if predicts_end:
            self.end = build_layers([s.latent_dim, *hidden, 1], **kinds)
        is_squashed = s.prior == "squashed_normal"
        n_outputs = 2 * n_actions if is_squashed else n_actions
        layers = build_layers([s.latent_dim, *hidden, n_outputs], **kinds)
        self.prior = (SquashedPrior if is_squashed else NoisyPrior)(layers, n_actions)
        begin_(self, s.begins)
        nn.init.zeros_(self.reward[-1].weight)
        self.critics = ValueEnsemble(
            joint,
            self.number.n_outputs,
            n_critics=s.n_critics,
            width=s.mlp_dim,
            begins=s.begins,
            **kinds,
        )

    def next(self, latent: Tensor, action: Tensor) -> Tensor:
        """Return the latent state that an action leads to, (..., L)."""
        return self.dynamics(torch.cat([latent, action], dim=-1))

    def roll_out(self, latent: Tensor, actions: Tensor) -> Tensor:
        """Return the latent states that actions (H, ...) lead through, (H + 1, ..., L)."""
        states = [latent]
        for action in actions:
            states.append(self.next(states[-1], action))
        return torch.stack(states)

    def has_ended(self, latent: Tensor) -> Tensor:
        """Say where the episode is likelier over than not, (...) bool."""
        assert self.end is not None
        return self.end(latent).squeeze(-1) > 0.0
