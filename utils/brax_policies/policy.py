"""The actor and critic of Brax's PPO in torch: the same numbers, without JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.normalization import ObservationNormalizer
from utils.policies.actor_critic import PolicyStep

_LEAST_STD = 0.001
"""Added to every deviation: Brax's `NormalTanhDistribution`."""


class BraxPolicy(nn.Module):
    """Draws from a normal distribution and takes the tangent; see `utils.policies.Policy`.

    Freeman et al. 2021, "Brax: a differentiable physics engine for large scale rigid body
    simulation". `normalize` is ``(x - mean) / std`` with the moments of the training.
    """

    has_memory = False
    has_masks = False
    has_critic = True
    memory = None

    def __init__(
        self,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Box,
        *,
        hidden_dims: Sequence[int],
        value_dims: Sequence[int],
    ) -> None:
        """Build the layers; weights come from Brax, see `state_from_params`."""
        super().__init__()
        width, self._n_actions = observation_space.shape[0], action_space.shape[0]
        self.normalizer = ObservationNormalizer()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("std", torch.ones(width))
        self.actor = _layers(width, [*hidden_dims, 2 * self._n_actions])
        self.critic = _layers(width, [*value_dims, 1])

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Tensor) -> Tensor:
        """Return raw observations (B, D) as the other methods read them."""
        return (observation - self.mean) / self.std

    def moments(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and deviation before the tangent, (B, A) each."""
        mean, spread = self.actor(observation).chunk(2, dim=-1)
        return mean, F.softplus(spread) + _LEAST_STD

    def value_of(self, observation: Tensor) -> Tensor:
        """Return the value of each row, (B,)."""
        return self.critic(observation).squeeze(-1)

    def act(
        self,
        observation: Tensor,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action in [-1, 1] for each row; no density is told (0). See `Policy.act`."""
        del mask, state
        mean, std = self.moments(observation)
        if not deterministic:
            mean = mean + std * torch.empty_like(mean).normal_(generator=generator)
        value = self.value_of(observation)
        return PolicyStep(mean.tanh(), torch.zeros_like(value), value)

    def explain(
        self, observation: Tensor, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "action_mean", "action_std" (by the slope of the tangent there) and "value"."""
        del mask, state
        mean, std = self.moments(observation)
        greedy = mean.tanh()
        return {
            "action_mean": greedy,
            "action_std": std * (1.0 - greedy.square()),
            "value": self.value_of(observation),
        }

    def export_outputs(
        self, observation: Tensor, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells: the greedy "action", and see `explain`."""
        thoughts = self.explain(observation, mask=mask, state=state)
        return {"action": thoughts["action_mean"], **thoughts}

    def action_std(self) -> float | None:
        """Return None: the deviation depends on the observation."""
        return None


def _layers(width: int, dims: Sequence[int]) -> nn.Sequential:
    parts: list[nn.Module] = []
    for size in dims:
        parts += [nn.Linear(width, size), nn.SiLU()]
        width = size
    return nn.Sequential(*parts[:-1])


def state_from_params(params: Sequence[Any]) -> dict[str, Tensor]:
    """Return the state of a `BraxPolicy` from the parameters of Brax's PPO.

    Args:
        params: Moments of observations, weights of the actor, weights of the critic.
    """
    moments, actor, critic = params
    state = {"mean": _tensor(moments.mean), "std": _tensor(moments.std)}
    for name, weights in (("actor", actor), ("critic", critic)):
        layers: Mapping[str, Any] = weights["params"]
        for index in range(len(layers)):
            layer = layers[f"hidden_{index}"]
            state[f"{name}.{2 * index}.weight"] = _tensor(layer["kernel"]).T.contiguous()
            state[f"{name}.{2 * index}.bias"] = _tensor(layer["bias"])
    return state


def _tensor(array: Any) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
