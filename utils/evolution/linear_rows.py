"""Linear controllers as rows of numbers, each with an environment or a dream of its own."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class LinearShape(NamedTuple):
    """What a row of parameters holds: weights (n_outputs, n_features), then biases (n_outputs)."""

    n_features: int
    n_outputs: int

    @property
    def n_parameters(self) -> int:
        """Width of a row."""
        return (self.n_features + 1) * self.n_outputs


def control_rows(shape: LinearShape, parameters: Tensor, features: Tensor) -> Tensor:
    """Return what controllers put out, each for its own features: one product for all.

    Args:
        shape: Of the controllers.
        parameters: (N, n_parameters)
        features: (N, R, n_features)

    Returns:
        (N, R, n_outputs)
    """
    n_weights = shape.n_features * shape.n_outputs
    weight, bias = parameters.split([n_weights, shape.n_outputs], dim=-1)
    weight = weight.unflatten(-1, (shape.n_outputs, shape.n_features))
    return torch.baddbmm(bias.unsqueeze(1), features, weight.transpose(1, 2))
