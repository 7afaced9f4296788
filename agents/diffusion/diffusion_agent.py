"""Diffusion Policy: sequences of actions drawn out of noise.

Chi et al. 2023, "Diffusion Policy: Visuomotor policy learning via action diffusion".
"""

from __future__ import annotations

import copy

import gymnasium as gym
import torch
from torch import Tensor, nn
from typing_extensions import override

from agents.diffusion.diffusion_losses import denoising_loss
from agents.imitation_agent import ImitationAgent
from utils.config import DiffusionConfig
from utils.demonstrations.windows import Window
from utils.diffusion import Denoiser, DenoiserSettings, DiffusionSettings
from utils.errors import ConfigError
from utils.optimization.averaging import move_towards_, warmed_up_decay
from utils.policies.diffusion_policy import DiffusionPolicy, Horizons
from utils.spaces import unread_faults, unread_settings

_OF_PICTURES = ("picture_width", "n_keypoints", "crop_fraction")
_NETWORK = (
    "network",
    "channels",
    "kernel_size",
    "n_groups",
    "step_dim",
    "width",
    "n_layers",
    "n_heads",
    "dropout",
    "causal",
    *_OF_PICTURES,
)


class DiffusionAgent(ImitationAgent):
    """A network learns to find the noise in demonstrated sequences; its moving average acts."""

    config: DiffusionConfig
    policy: DiffusionPolicy  # type: ignore[assignment]
    student: Denoiser

    @staticmethod
    @override
    def build_models(
        config: DiffusionConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> DiffusionPolicy:
        if not isinstance(action_space, gym.spaces.Box):
            raise ConfigError(
                "diffusion draws sequences of numbers, and the actions of this environment are "
                f"{action_space}: use bc for choices"
            )
        kwargs = config.policy_kwargs
        unread = unread_settings(observation_space, of_pictures=_OF_PICTURES)
        if faults := unread_faults(observation_space, unread, kwargs.model_fields_set):
            raise ConfigError("\n".join(faults))
        return DiffusionPolicy(
            observation_space,
            action_space,
            network=DenoiserSettings(
                n_observations=config.obs_horizon,
                length=config.horizon,
                **{name: getattr(kwargs, name) for name in _NETWORK},
            ),
            diffusion=DiffusionSettings(
                scheduler=config.scheduler,
                n_train_steps=config.n_train_steps,
                n_denoise_steps=config.n_denoise_steps,
                beta_schedule=config.beta_schedule,
                prediction=config.prediction,
            ),
            horizons=Horizons(
                observations=config.obs_horizon,
                prediction=config.horizon,
                execution=config.action_horizon,
            ),
        )

    @property
    @override
    def n_observations(self) -> int:
        return self.config.obs_horizon

    @property
    @override
    def n_actions(self) -> int:
        return self.config.horizon

    @override
    def build_student(self) -> nn.Module:
        return copy.deepcopy(self.policy.denoiser)

    @override
    def losses(self, window: Window, generator: torch.Generator, *, is_learning: bool) -> Tensor:
        network = self.student if is_learning else self.policy.denoiser
        action = window.action.flatten(2)
        features = network.encode_windows(
            window.observation, crops=generator if is_learning else None
        )
        noise = torch.randn(action.shape, generator=generator).to(action.device)
        step = self.policy.diffusion.draw_steps(len(action), generator).to(action.device)
        noisy = self.policy.diffusion.add_noise(action, noise, step)
        target = self.policy.diffusion.target(action, noise, step)
        return denoising_loss(network(noisy, step, features), target, window.is_real)

    @override
    def action_error(self, window: Window, generator: torch.Generator) -> Tensor:
        """Compare what is drawn with the demonstrated actions, over those carried out."""
        policy, horizons = self.policy, self.policy.horizons
        features = policy.denoiser.encode_windows(window.observation)
        noise = policy.draw_noise(len(features), generator, torch.device("cpu"))
        drawn = policy.plan(features, noise.to(features.device))
        first = horizons.observations - 1
        carried_out = slice(first, first + horizons.execution)
        is_real = window.is_real[:, carried_out]
        error = (drawn - window.action.flatten(2)[:, carried_out]).abs().mean(dim=-1) * is_real
        return error.sum(dim=1) / is_real.sum(dim=1)

    @override
    def after_update(self) -> None:
        config = self.config
        kept = warmed_up_decay(self.counters.updates, power=config.ema_power, most=config.ema_most)
        move_towards_(self.policy.denoiser, self.student, tau=1.0 - kept)
        self.recorder.record("train/imitation/ema", kept)
