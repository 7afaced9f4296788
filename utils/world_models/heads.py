"""What is read off a world model's state: numbers, and whether an episode goes on."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.distributions.two_hot import exponential_bins, two_hot_loss, two_hot_mean
from utils.world_models.fused_steps import availability
from utils.world_models.layers import build_dense_stack, build_linear, widen

_LIMIT = 20.0
"""Symmetric logarithm of the last bin."""
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Head(nn.Module):
    """Dense layers and a linear one; computes its outputs in float32."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        width: int,
        n_layers: int,
        norm: str,
        activation: str,
        scale: float = 1.0,
    ) -> None:
        """Build the layers.

        Args:
            input_dim: Width of the features.
            output_dim: Width of the output.
            width: Of each hidden layer.
            n_layers: Hidden layers, >= 0.
            norm: See `build_norm`.
            activation: Key of `ACTIVATIONS`.
            scale: Of the last layer's first weights; 0 gives zeros.
        """
        super().__init__()
        self.layers = build_dense_stack(
            input_dim, width, n_layers=n_layers, norm=norm, activation=activation
        )
        self.output = build_linear(width if n_layers else input_dim, output_dim, scale=scale)

    def forward(self, features: Tensor) -> Tensor:
        """Map (..., input_dim) to (..., output_dim) float32."""
        hidden = self.layers(features)
        with torch.autocast(hidden.device.type, enabled=False):
            return self.output(widen(hidden))


class TwoHotHead(Head):
    """A number as a distribution over bins; says 0 at first."""

    bins: Tensor

    def __init__(self, input_dim: int, *, n_bins: int = 255, **kwargs: object) -> None:
        """Build the layers; see `Head`. `n_bins` is odd."""
        super().__init__(input_dim, n_bins, scale=0.0, **kwargs)  # type: ignore[arg-type]
        self.register_buffer("bins", exponential_bins(n_bins, limit=_LIMIT), persistent=False)

    def mean(self, output: Tensor) -> Tensor:
        """Return the number that outputs (..., n_bins) stand for, (...)."""
        has_gradient = torch.is_grad_enabled() and output.requires_grad
        if not has_gradient and availability.runs_fused(output, width=len(self.bins)):
            from utils.world_models.fused_steps import losses

            return losses.two_hot_mean(output, self.bins)
        return two_hot_mean(output, self.bins)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy with numbers (...), (...)."""
        if availability.runs_fused(output, width=len(self.bins)):
            from utils.world_models.fused_steps import losses

            return losses.two_hot_loss(output, target, self.bins)
        return two_hot_loss(output, target, self.bins)


class NormalHead(Head):
    """A number as the mean of a normal distribution of deviation 1."""

    def __init__(self, input_dim: int, **kwargs: object) -> None:
        """Build the layers; see `Head`."""
        super().__init__(input_dim, 1, **kwargs)  # type: ignore[arg-type]

    def mean(self, output: Tensor) -> Tensor:
        """Return the number that outputs (..., 1) stand for, (...)."""
        return output.squeeze(-1)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the negative log-density of numbers (...), (...)."""
        return 0.5 * (output.squeeze(-1) - target.detach()).square() + _HALF_LOG_TWO_PI


ScalarHead = TwoHotHead | NormalHead


class ContinueHead(Head):
    """The probability that an episode goes on."""

    def __init__(self, input_dim: int, **kwargs: object) -> None:
        """Build the layers; see `Head`."""
        super().__init__(input_dim, 1, **kwargs)  # type: ignore[arg-type]

    def probability(self, output: Tensor) -> Tensor:
        """Return the probability that outputs (..., 1) stand for, (...)."""
        return output.squeeze(-1).sigmoid()

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the binary cross-entropy with probabilities (...), (...)."""
        target = target.to(output.dtype)
        return F.binary_cross_entropy_with_logits(output.squeeze(-1), target, reduction="none")


def build_scalar_head(
    kind: str, input_dim: int, *, n_bins: int = 255, **kwargs: object
) -> ScalarHead:
    """Build the head of a number: "two_hot", over `n_bins`, or "normal"."""
    if kind == "two_hot":
        return TwoHotHead(input_dim, n_bins=n_bins, **kwargs)
    assert kind == "normal", kind
    return NormalHead(input_dim, **kwargs)
