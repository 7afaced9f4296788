"""Actions as a world model reads them, and as its actor draws them."""

from __future__ import annotations

from typing import Literal

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.distributions import ActionDistribution, Parameters
from utils.distributions.bounded_normal import LEAST_STD, BoundedNormal
from utils.distributions.tanh_normal import TanhNormal
from utils.models.action_scale import ActionScale
from utils.policies.distribution import build_distribution
from utils.world_models.fused_steps import availability


class ActionCode(nn.Module):
    """Between the actions of a space and the numbers of networks.

    A *drawn* action is what a distribution draws and a buffer stores: a Box in [-1, 1], flat, and
    choices that count from 0. An *encoded* one is what dynamics read: choices are one-hot.

    Attributes:
        width: Numbers of an encoded action (A).
        n_parameters: Outputs of an actor.
        is_continuous: Whether the space is a Box.
    """

    def __init__(
        self,
        space: gym.Space,
        *,
        box: Literal["bounded_normal", "tanh_normal"],
        algorithm: str,
    ) -> None:
        """Read the space.

        Args:
            space: Single action space.
            box: What actions in a Box are drawn from.
            algorithm: Named where the space is refused.

        Raises:
            ConfigError: Nobody can act in the space, or a Box without bounds.
        """
        super().__init__()
        self._space = space
        self.is_continuous = isinstance(space, gym.spaces.Box)
        self.scale: ActionScale | None = None
        self.distribution: ActionDistribution
        if isinstance(space, gym.spaces.Box):
            self.scale = ActionScale(space, algorithm=algorithm)
            self.width = self.scale.size
            kind = BoundedNormal if box == "bounded_normal" else TanhNormal
            self.distribution, self.n_parameters = kind(self.width), 2 * self.width
        else:
            self.distribution, self.n_parameters = build_distribution(space)
            self.width = self.n_parameters

    def parameters_of(self, output: Tensor) -> tuple[Tensor, ...]:
        """Return what an actor puts out, (..., n_parameters), as the distribution reads it."""
        return tuple(output.chunk(2, dim=-1)) if self.is_continuous else (output,)

    def draw(self, parameters: Parameters, generator: torch.Generator) -> Tensor:
        """Draw actions (N, ...); where the distribution lets them, gradients flow.

        Args:
            parameters: From `parameters_of` outputs (N, n_parameters).
            generator: On their device.
        """
        first = parameters[0]
        has_gradient = torch.is_grad_enabled() and first.requires_grad
        is_bounded = isinstance(self.distribution, BoundedNormal)
        if is_bounded and not has_gradient and availability.runs_fused(first, width=self.width):
            from utils.world_models.fused_steps import dreams

            noise = torch.empty(first.shape, dtype=torch.float32, device=first.device)
            noise.normal_(generator=generator)
            return dreams.draw_bounded(*parameters, noise, least_std=LEAST_STD)
        return self.distribution.sample(parameters, generator)

    def encode(self, action: Tensor) -> Tensor:
        """Return drawn actions as dynamics read them, (..., A) float32."""
        match self._space:
            case gym.spaces.Discrete():
                return F.one_hot(action.long(), self.width).float()
            case gym.spaces.MultiDiscrete():
                sizes = [int(n) for n in self._space.nvec]
                columns = [F.one_hot(action[..., i].long(), n) for i, n in enumerate(sizes)]
                return torch.cat(columns, dim=-1).float()
        return action.float()

    def to_env(self, action: Tensor) -> Tensor:
        """Return drawn actions (B, ...) in the units of the environment."""
        if self.scale is None:
            return action
        return self.scale.to_env(action.clamp(-1.0, 1.0))

    def from_env(self, action: Tensor) -> Tensor:
        """Undo `to_env`: return actions (B, ...) as they are drawn; a Box flat."""
        return action if self.scale is None else self.scale.from_env(action)

    def draw_evenly(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n actions without preference."""
        device = generator.device
        match self._space:
            case gym.spaces.Discrete():
                high = int(self._space.n)
                return torch.randint(high, (n,), generator=generator, device=device)
            case gym.spaces.MultiDiscrete():
                sizes = torch.as_tensor(self._space.nvec, device=device)
                drawn = torch.rand((n, len(sizes)), generator=generator, device=device)
                return (drawn * sizes).long()
            case gym.spaces.MultiBinary():
                shape = (n, self.width)
                return torch.randint(2, shape, generator=generator, device=device)
        drawn = torch.rand((n, self.width), generator=generator, device=device)
        return 2.0 * drawn - 1.0

    @property
    def stored_space(self) -> gym.Space:
        """The space of drawn actions, for a buffer."""
        if self.is_continuous:
            return gym.spaces.Box(-1.0, 1.0, (self.width,), np.float32)
        return self._space
