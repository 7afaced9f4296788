"""A policy that does not look."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.normalization import ObservationNormalizer
from utils.policies.actor_critic import Observation, PolicyStep
from utils.spaces import ActionAdapter


class RandomPolicy(nn.Module):
    """Draws every action evenly from its space, "greedy" or not; see `utils.policies.Policy`."""

    has_memory = False
    memory = None
    has_critic = False

    def __init__(self, action_space: gym.Space, *, action_masks: bool) -> None:
        """Read the space.

        Args:
            action_space: Discrete, MultiDiscrete, MultiBinary, or a Box with finite bounds.
            action_masks: Choose only among the actions that the environment allows.

        Raises:
            ConfigError: A space without bounds, or one that no policy can act in.
        """
        super().__init__()
        ActionAdapter(action_space)  # refuses what no policy can act in
        self.has_masks = action_masks
        self.normalizer = ObservationNormalizer()
        self._space = action_space
        self._sizes: list[int] = []
        match action_space:
            case gym.spaces.Box():
                with np.errstate(over="ignore"):  # some write "no bound" as the largest float
                    span = action_space.high - action_space.low
                if not np.isfinite(span).all():
                    raise ConfigError(
                        f"random draws evenly between bounds, and the actions are {action_space}: "
                        "let a wrapper bound them"
                    )
                if action_masks:
                    raise ConfigError(
                        f"'action_masks' has no effect on the action space {action_space}: only "
                        "choices (Discrete, MultiDiscrete, MultiBinary) can be forbidden"
                    )
                self.register_buffer("low", torch.from_numpy(action_space.low), persistent=False)
                self.register_buffer("high", torch.from_numpy(action_space.high), persistent=False)
            case gym.spaces.Discrete():
                self._sizes = [int(action_space.n)]
            case gym.spaces.MultiDiscrete():
                self._sizes = [int(n) for n in action_space.nvec]
            case gym.spaces.MultiBinary():
                self._sizes = [2] * int(np.prod(action_space.shape))

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Observation) -> Observation:
        """Return the observation as it is."""
        return observation

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Draw an action for each row; see `Policy.act`."""
        del deterministic, state
        first = next(iter(observation.values())) if isinstance(observation, dict) else observation
        n, device = len(first), first.device
        if not self._sizes:
            drawn = torch.rand((n, *self.low.shape), generator=generator, device=device)
            action = self.low + drawn * (self.high - self.low)
            logprob = -(self.high - self.low).log().sum().expand(n)
        else:
            parts, logprob = self._draw_choices(n, device, generator, mask)
            single = isinstance(self._space, gym.spaces.Discrete)
            action = parts[:, 0] if single else parts.view(n, *self._space.shape)
        return PolicyStep(action, logprob, torch.zeros(n, device=device))

    def _draw_choices(
        self, n: int, device: torch.device, generator: torch.Generator | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return a choice of each part, (n, parts) int64, and their log-probability, (n,)."""
        allowed = self._allowed(n, device, mask)
        drawn = [torch.multinomial(part, 1, generator=generator) for part in allowed]
        logprob = -sum(part.sum(dim=1).log() for part in allowed)
        return torch.cat(drawn, dim=1), logprob

    def _allowed(self, n: int, device: torch.device, mask: Tensor | None) -> list[Tensor]:
        """Return the weights of the choices of each part, (n, size) float of 0 and 1."""
        if mask is None:
            return [torch.ones((n, size), device=device) for size in self._sizes]
        if isinstance(self._space, gym.spaces.MultiBinary):  # it says which bits may be 1
            bits = mask.float().unbind(1)
            return [torch.stack([torch.ones_like(bit), bit], dim=1) for bit in bits]
        return list(mask.float().split(self._sizes, dim=1))

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "action_probabilities" of choices, (B, n); nothing of numbers in a Box.

        A bit has the probability that it is 1.
        """
        del state
        if not self._sizes:
            return {}
        first = next(iter(observation.values())) if isinstance(observation, dict) else observation
        allowed = self._allowed(len(first), first.device, mask)
        shares = torch.cat([part / part.sum(dim=1, keepdim=True) for part in allowed], dim=1)
        if isinstance(self._space, gym.spaces.MultiBinary):
            shares = shares[:, 1::2]
        return {"action_probabilities": shares}

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return a drawn "action"."""
        del state
        return {"action": self.act(observation, mask=mask).action}

    def action_std(self) -> float | None:
        """Return None: it is not learnt."""
        return None
