"""How noise is added to actions, and taken away again step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from utils.errors import MissingDependencyError

Predict = Callable[[Tensor, Tensor], Tensor]
"""Noisy actions (B, T, A) and the step of each row (B,) int64 -> the prediction, (B, T, A)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffusionSettings:
    """How much noise there is at which step, and how it is taken away."""

    scheduler: Literal["ddpm", "ddim"]
    """ddpm draws noise at every step anew, ddim at the beginning only."""
    n_train_steps: int
    """Steps from actions to nothing but noise, K."""
    n_denoise_steps: int
    """Steps back that acting takes, S <= K."""
    beta_schedule: str
    """Name of a schedule of `diffusers`."""
    prediction: Literal["epsilon", "sample", "v_prediction"]
    """What the network says: the noise, the actions, or their rotation."""


class ActionDiffusion:
    """Schedule and sampler of `diffusers` with the noise given from outside.

    Ho et al. 2020, "Denoising diffusion probabilistic models" (ddpm), and Song et al. 2021,
    "Denoising diffusion implicit models" (ddim), whose equation 12 with eta = 1 is a step of ddpm;
    so one scheduler carries out both. Actions lie in [-1, 1]; what a step makes of them is kept
    there.
    """

    def __init__(self, settings: DiffusionSettings) -> None:
        """Build the schedule.

        Raises:
            MissingDependencyError: `diffusers` is not installed.
        """
        schedulers = _import_diffusers()
        self.settings = settings
        self._scheduler = schedulers.DDIMScheduler(
            num_train_timesteps=settings.n_train_steps,
            beta_start=1e-4,
            beta_end=0.02,
            beta_schedule=settings.beta_schedule,
            clip_sample=True,
            clip_sample_range=1.0,
            set_alpha_to_one=True,
            prediction_type=settings.prediction,
        )
        self._scheduler.set_timesteps(settings.n_denoise_steps)
        self.steps: list[int] = self._scheduler.timesteps.tolist()
        """The steps that acting goes through, the noisiest first."""

    @property
    def draws_always(self) -> bool:
        """Whether noise is added at every step back."""
        return self.settings.scheduler == "ddpm"

    def draw_noise(
        self, n: int, length: int, width: int, generator: torch.Generator | None, device: Any
    ) -> Tensor:
        """Draw what `denoise` needs for n sequences: (S + 1 or 1, n, length, width)."""
        n_draws = len(self.steps) + 1 if self.draws_always else 1
        return torch.randn((n_draws, n, length, width), generator=generator, device=device)

    def draw_steps(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw a step to learn from for each of n sequences, (n,) int64."""
        high = self.settings.n_train_steps
        return torch.randint(high, (n,), generator=generator, device=generator.device)

    def add_noise(self, action: Tensor, noise: Tensor, step: Tensor) -> Tensor:
        """Return actions with the noise of a step, (B, T, A).

        ``sqrt(a_k) x + sqrt(1 - a_k) e`` (Ho et al. 2020, equation 4).
        """
        return self._scheduler.add_noise(action, noise, step)

    def target(self, action: Tensor, noise: Tensor, step: Tensor) -> Tensor:
        """Return what the network is to say of noisy actions, (B, T, A)."""
        match self.settings.prediction:
            case "epsilon":
                return noise
            case "sample":
                return action
        return self._scheduler.get_velocity(action, noise, step)

    def denoise(self, predict: Predict, noise: Tensor) -> Tensor:
        """Turn noise into actions in [-1, 1], (n, T, A).

        Args:
            predict: The network, conditioned.
            noise: As of `draw_noise`.
        """
        action, n = noise[0], noise.shape[1]
        for k, step in enumerate(self.steps):
            rows = torch.full((n,), step, dtype=torch.int64, device=noise.device)
            action = self._scheduler.step(
                predict(action, rows),
                step,
                action,
                eta=1.0 if self.draws_always else 0.0,
                use_clipped_model_output=self.draws_always,
                variance_noise=noise[k + 1] if self.draws_always else None,
                return_dict=False,
            )[0]
        return action


def _import_diffusers() -> Any:
    try:
        import diffusers
    except ImportError as error:
        raise MissingDependencyError(
            "diffusers", extra="diffusion", needed_for="algo_id: diffusion"
        ) from error
    return diffusers
