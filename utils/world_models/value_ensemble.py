"""Several networks of one shape that value latent states and actions, evaluated at once."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.world_models.latent_layers import begin_weight_, build_activation


class ValueEnsemble(nn.Module):
    """E separate networks of two hidden layers; their weights are stacked, (E, in, out).

    With layer norms: linear, dropout, norm, activation; linear, norm, activation; linear. Without:
    linear, norm, tanh; linear, activation; linear, as Hansen et al. 2022, "Temporal difference
    learning for model predictive control", table 8. The last layers begin at 0.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        n_critics: int,
        width: int,
        norm: str,
        activation: str,
        begins: str,
    ) -> None:
        """Draw the weights.

        Args:
            input_dim: Numbers of a latent state and an action.
            output_dim: Outputs of each network.
            n_critics: Number of networks (E).
            width: Of the hidden layers.
            norm: "layer" or "none".
            activation: See `build_activation`.
            begins: See `begin_weight_`.
        """
        super().__init__()
        self.n_critics, self.width, self._norm = n_critics, width, norm
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for a, b in pairwise([input_dim, width, width, output_dim]):
            weight = torch.empty(n_critics, a, b)
            begin_weight_(weight, begins)
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(n_critics, 1, b)))
        nn.init.zeros_(self.weights[-1])
        n_norms = 2 if norm == "layer" else 1
        one, zero = torch.ones(n_critics, 1, width), torch.zeros(n_critics, 1, width)
        self.scales = nn.ParameterList(nn.Parameter(one.clone()) for _ in range(n_norms))
        self.shifts = nn.ParameterList(nn.Parameter(zero.clone()) for _ in range(n_norms))
        self.activation = build_activation(activation)

    def forward(self, inputs: Tensor, kept: Tensor | None = None) -> Tensor:
        """Return the outputs of each network, (E, ..., output_dim).

        Args:
            inputs: (..., input_dim) latent states and actions.
            kept: (E, M, width) what the outputs of the first layer are multiplied by, M being the
                number of inputs; see `draw_kept`. None drops nothing.
        """
        rows = inputs.reshape(-1, inputs.shape[-1])
        hidden = rows.expand(self.n_critics, *rows.shape)
        hidden = torch.baddbmm(self.biases[0], hidden, self.weights[0])
        if kept is not None:
            hidden = hidden * kept
        hidden = self._normalize(hidden, 0)
        hidden = self.activation(hidden) if self._norm == "layer" else hidden.tanh()
        hidden = torch.baddbmm(self.biases[1], hidden, self.weights[1])
        if self._norm == "layer":
            hidden = self._normalize(hidden, 1)
        hidden = self.activation(hidden)
        output = torch.baddbmm(self.biases[2], hidden, self.weights[2])
        return output.view(self.n_critics, *inputs.shape[:-1], -1)

    def _normalize(self, hidden: Tensor, index: int) -> Tensor:
        plain = F.layer_norm(hidden, hidden.shape[-1:])
        return torch.addcmul(self.shifts[index], plain, self.scales[index])

    def draw_kept(self, n: int, *, dropout: float, generator: torch.Generator) -> Tensor | None:
        """Draw the dropout of n inputs: 0 or 1 / (1 - dropout), (E, n, width); None without."""
        if dropout == 0.0:
            return None
        shape = (self.n_critics, n, self.width)
        drawn = torch.rand(shape, generator=generator, device=generator.device)
        return (drawn >= dropout).float() / (1.0 - dropout)
