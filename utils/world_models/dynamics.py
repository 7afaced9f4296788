"""The deterministic part of a world model's state: how it goes on from one step to the next."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.mlp import ACTIVATIONS
from utils.world_models.layers import BlockLinear, DenseLayer, build_linear, build_norm


class Dynamics(Protocol):
    """A recurrent network of deterministic states (..., D)."""

    width: int
    """Of a state (D)."""

    def read_actions(self, action: Tensor) -> Tensor:
        """Return what `forward` needs of actions (..., A); of many steps at once, if known."""

    def __call__(self, deter: Tensor, stoch: Tensor, action_features: Tensor) -> Tensor:
        """Return the next deterministic states (B, D).

        Args:
            deter: (B, D)
            stoch: (B, W)
            action_features: From `read_actions`, (B, ...).
        """


def bound_actions(action: Tensor) -> Tensor:
    """Return ``a / max(1, |a|)`` for each number; the divisor carries no gradient."""
    return action / action.detach().abs().clamp_min(1.0)


class BlockGRU(nn.Module):
    """A gated recurrent unit whose weights are block-diagonal.

    Hafner et al. 2025, "Mastering diverse control tasks through world models", methods. State,
    latent and action are read by a layer each; every block then sees all three, and its own part of
    the state::

        x     = [layer(deter), layer(stoch), layer(action)]
        y     = layers([deter_g, x] for each block g)
        reset, candidate, update = split(linear_g(y_g))
        deter = u * tanh(sigmoid(reset) * candidate) + (1 - u) * deter,  u = sigmoid(update - 1)
    """

    def __init__(
        self,
        *,
        deter: int,
        stoch: int,
        n_actions: int,
        hidden: int,
        n_blocks: int,
        n_layers: int,
        norm: str,
        activation: str,
    ) -> None:
        """Build the layers.

        Args:
            deter: Width of the state (D), a multiple of `n_blocks`.
            stoch: Width of the latent.
            n_actions: Width of an encoded action.
            hidden: Width of each of the three layers that read (H).
            n_blocks: Blocks of the state (G).
            n_layers: Layers between reading and gates, >= 1.
            norm: See `build_norm`.
            activation: Key of `ACTIVATIONS`.
        """
        super().__init__()
        assert n_layers >= 1, n_layers
        self.width, self.n_blocks = deter, n_blocks
        kinds = {"norm": norm, "activation": activation}
        self.deter_in = DenseLayer(deter, hidden, **kinds)
        self.stoch_in = DenseLayer(stoch, hidden, **kinds)
        self.action_in = DenseLayer(n_actions, hidden, **kinds)
        inputs = [deter + 3 * hidden * n_blocks, *[deter] * (n_layers - 1)]
        self.layers = nn.ModuleList(BlockLinear(n, deter, n_blocks=n_blocks) for n in inputs)
        self.norms = nn.ModuleList(build_norm(norm, deter) for _ in inputs)
        self.activation = ACTIVATIONS[activation]()
        self.gates = BlockLinear(deter, 3 * deter, n_blocks=n_blocks)

    def read_actions(self, action: Tensor) -> Tensor:
        """Return the features of actions (..., A), (..., H)."""
        return self.action_in(bound_actions(action))

    def forward(self, deter: Tensor, stoch: Tensor, action_features: Tensor) -> Tensor:
        """Return the next states; see `Dynamics`."""
        blocks = deter.unflatten(-1, (self.n_blocks, -1))
        seen = torch.cat([self.deter_in(deter), self.stoch_in(stoch), action_features], dim=-1)
        seen = seen.unsqueeze(-2).expand(*blocks.shape[:-1], -1)
        x = torch.cat([blocks.to(seen.dtype), seen], dim=-1).flatten(-2)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = self.activation(norm(layer(x)))
        parts = self.gates(x).unflatten(-1, (self.n_blocks, 3, -1))
        reset, candidate, update = (part.flatten(-2) for part in parts.unbind(-2))
        return gated_update(deter, reset, candidate, update)


def gated_update(deter: Tensor, reset: Tensor, candidate: Tensor, update: Tensor) -> Tensor:
    """Return ``u tanh(sigmoid(reset) candidate) + (1 - u) deter``, ``u = sigmoid(update - 1)``."""
    gate = (update - 1.0).sigmoid()
    return torch.lerp(deter.to(gate.dtype), (reset.sigmoid() * candidate).tanh(), gate)


class PlainGRU(nn.Module):
    """A gated recurrent unit behind one layer, as in PlaNet and the first two Dreamers.

    Hafner et al. 2019, "Learning latent dynamics for planning from pixels", appendix A; with norm
    "layer" as in Hafner et al. 2021, "Mastering Atari with discrete world models".
    """

    def __init__(
        self, *, deter: int, stoch: int, n_actions: int, hidden: int, norm: str, activation: str
    ) -> None:
        """Build the layers; see `BlockGRU`."""
        super().__init__()
        self.width, self._stoch = deter, stoch
        self.read = build_linear(stoch + n_actions, hidden)
        self.read_norm = build_norm(norm, hidden)
        self.activation = ACTIVATIONS[activation]()
        self.gates = build_linear(hidden + deter, 3 * deter)
        self.gates_norm = build_norm(norm, 3 * deter)

    def read_actions(self, action: Tensor) -> Tensor:
        """Return the actions' part of the first layer, (..., H)."""
        return F.linear(bound_actions(action), self.read.weight[:, self._stoch :], self.read.bias)

    def forward(self, deter: Tensor, stoch: Tensor, action_features: Tensor) -> Tensor:
        """Return the next states; see `Dynamics`."""
        read = F.linear(stoch, self.read.weight[:, : self._stoch]) + action_features
        x = self.activation(self.read_norm(read))
        parts = self.gates_norm(self.gates(torch.cat([x, deter.to(x.dtype)], dim=-1)))
        return gated_update(deter, *parts.chunk(3, dim=-1))
