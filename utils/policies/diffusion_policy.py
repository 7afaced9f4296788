"""A policy that draws whole sequences of actions out of noise, and carries out their beginning."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import torch
from torch import Tensor, nn
from typing_extensions import override

from utils.diffusion import ActionDiffusion, Denoiser, DenoiserSettings, DiffusionSettings
from utils.normalization.min_max import MinMaxScale, build_min_max_normalizer
from utils.policies.actor_critic import Observation, PolicyStep

_SEED = 0
"""Of the noise of a policy that draws nothing: the same for every plan and every row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizons:
    """How far back and ahead a policy looks, in steps of the environment."""

    observations: int
    """Observations that are seen, the present one included."""
    prediction: int
    """Actions of a sequence; the first belongs to the oldest observation that is seen."""
    execution: int
    """Actions that are carried out before the next sequence is drawn."""


class DiffusionPolicy(nn.Module):
    """Chi et al. 2023, "Diffusion Policy: Visuomotor policy learning via action diffusion".

    What is remembered is one row of numbers for each environment: whether the episode has begun,
    how many actions are left, the features of earlier observations, and the actions that are left.
    Zeros are a fresh one; then the first observation stands for those before it. Rows draw their
    sequences when they need them, all that need one in the same call.

    It has no training mode: the weights that learn are a copy of `denoiser` elsewhere, and these
    are their moving average.
    """

    has_memory = True
    has_masks = False
    still_noise: Tensor

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.spaces.Box,
        *,
        network: DenoiserSettings,
        diffusion: DiffusionSettings,
        horizons: Horizons,
    ) -> None:
        """Build the networks; scales are the identity until they are fitted to demonstrations.

        Raises:
            MissingDependencyError: `diffusers` is not installed.
        """
        super().__init__()
        self.diffusion = ActionDiffusion(diffusion)
        self.horizons = horizons
        self.shape = action_space.shape
        self.width = int(torch.Size(self.shape).numel())
        self.normalizer = build_min_max_normalizer(observation_space)
        self.action_scale = MinMaxScale(self.shape)
        self.denoiser = Denoiser(observation_space, self.width, network)
        noise = self.draw_noise(1, torch.Generator().manual_seed(_SEED), torch.device("cpu"))
        self.register_buffer("still_noise", noise, persistent=False)
        self.train(False)

    @override
    def train(self, mode: bool = True) -> DiffusionPolicy:
        """Stay in evaluation mode: whoever acts looks at the middle of pictures and drops none."""
        del mode
        return super().train(False)

    # -- memory -----------------------------------------------------------------------------------

    @property
    def _history_dim(self) -> int:
        return (self.horizons.observations - 1) * self.denoiser.features_dim

    def initial_state(self, n: int) -> Tensor:
        """Return the memory of n environments at the start of an episode, zeros."""
        width = 2 + self._history_dim + self.horizons.execution * self.width
        return self.action_scale.centre.new_zeros((n, width))

    def _look(self, observation: Observation, state: Tensor) -> Tensor:
        """Return the features of the observations that are seen, (B, n_observations, F)."""
        present = self.denoiser.encode(observation).unsqueeze(1)
        n_before = self.horizons.observations - 1
        if n_before == 0:
            return present
        history = state[:, 2 : 2 + self._history_dim].unflatten(1, (n_before, -1))
        has_begun = state[:, :1, None] > 0
        return torch.cat([torch.where(has_begun, history, present), present], dim=1)

    def _remember(self, features: Tensor, n_left: Tensor, queue: Tensor) -> Tensor:
        """Return what is remembered, (B, state_dim); the first of `queue` (B, E, A) is done now."""
        left_over = torch.cat([queue[:, 1:], torch.zeros_like(queue[:, :1])], dim=1)
        parts = [torch.ones_like(n_left), n_left - 1, features[:, 1:].flatten(1)]
        return torch.cat([*parts, left_over.flatten(1)], dim=1)

    def _queue(self, state: Tensor) -> Tensor:
        return state[:, 2 + self._history_dim :].unflatten(1, (-1, self.width))

    # -- acting -----------------------------------------------------------------------------------

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.normalizer.is_identity else self.normalizer(observation)

    def draw_noise(self, n: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
        """Draw the noise of n sequences; see `ActionDiffusion.draw_noise`."""
        length = self.horizons.prediction
        return self.diffusion.draw_noise(n, length, self.width, generator, device)

    def predict(self, features: Tensor, noise: Tensor) -> Tensor:
        """Turn noise into sequences of actions in [-1, 1], (B, prediction, A).

        Args:
            features: (B, n_observations, F)
            noise: As of `draw_noise`.
        """
        return self.diffusion.denoise(
            lambda action, step: self.denoiser(action, step, features), noise
        )

    def plan(self, features: Tensor, noise: Tensor) -> Tensor:
        """Return the part of sequences that is carried out, (B, execution, A) in [-1, 1]."""
        first = self.horizons.observations - 1
        return self.predict(features, noise)[:, first : first + self.horizons.execution]

    def to_env(self, action: Tensor) -> Tensor:
        """Return actions (..., A) in [-1, 1] in the units of the environment, (..., *shape)."""
        return self.action_scale.inverse(action.unflatten(-1, self.shape))

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `ActorCritic.act`.

        Deterministic means the same noise for every sequence and every row. A sequence has no
        density that could be told: the log-density is 0.
        """
        assert mask is None, "actions of a Box know no masks"
        assert state is not None, "a policy with a memory needs its state"
        features, n_left, queue = self._look(observation, state), state[:, 1:2], self._queue(state)
        needs = (n_left[:, 0] < 0.5).nonzero().squeeze(1)
        if len(needs):
            noise = self._noise_for(len(needs), generator, deterministic, state.device)
            queue = queue.index_copy(0, needs, self.plan(features[needs], noise))
            n_left = n_left.index_fill(0, needs, float(self.horizons.execution))
        nothing = torch.zeros(len(state), device=state.device)
        memory = self._remember(features, n_left, queue)
        return PolicyStep(self.to_env(queue[:, 0]), nothing, nothing, memory)

    def _noise_for(
        self, n: int, generator: torch.Generator | None, deterministic: bool, device: torch.device
    ) -> Tensor:
        if deterministic:
            return self.still_noise.expand(-1, n, -1, -1)
        return self.draw_noise(n, generator, device)

    def n_left(self, state: Tensor) -> Tensor:
        """Return how many actions are still to be carried out, (B,) int64."""
        return state[:, 1].round().to(torch.int64)

    def sample_sequences(
        self, observation: Observation, *, state: Tensor, n: int, generator: torch.Generator
    ) -> Tensor:
        """Draw n sequences for one row, whatever it has planned; its memory stays as it is.

        Args:
            observation: (1, ...) normalised.
            state: (1, state_dim) before this observation.
            n: How many.
            generator: Source of randomness.

        Returns:
            (n, prediction, *shape) in the units of the environment; the one that belongs to this
            observation has the number `horizons.observations - 1`.
        """
        features = self._look(observation, state).expand(n, -1, -1)
        return self.to_env(self.predict(features, self.draw_noise(n, generator, state.device)))

    # -- what others ask --------------------------------------------------------------------------

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return nothing: what is known of an action is known of its whole sequence.

        See `sample_sequences`.
        """
        del observation, mask, state
        return {}

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row; see `Policy`.

        Without a branch that depends on values, so every row draws a sequence at every step.
        """
        del mask
        assert state is not None, "a policy with a memory needs its state"
        features, n_left, queue = self._look(observation, state), state[:, 1:2], self._queue(state)
        needs = n_left < 0.5
        # Not len(state), which a trace would take for a constant.
        plan = self.plan(features, self.still_noise.expand(-1, state.shape[0], -1, -1))
        queue = torch.where(needs.unsqueeze(-1), plan, queue)
        n_left = torch.where(needs, float(self.horizons.execution), n_left)
        return {
            "action": self.to_env(queue[:, 0]),
            "state": self._remember(features, n_left, queue),
        }

    def action_std(self) -> float | None:
        """Return None: there is no deviation to tell."""
        return None
