"""The layers of models that predict latent states alone, and how they begin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

_ACTIVATIONS: dict[str, type[nn.Module]] = {"mish": nn.Mish, "elu": nn.ELU}
_STD = 0.02


class SimplexNorm(nn.Module):
    """Groups of numbers, each turned into a distribution by the softmax.

    Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", equation 4.
    """

    def __init__(self, group: int) -> None:
        """Remember the size of the groups."""
        super().__init__()
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., width) to the same; `group` divides the width."""
        return x.unflatten(-1, (-1, self.group)).softmax(dim=-1).flatten(-2)


def build_activation(kind: str) -> nn.Module:
    """Build "mish" or "elu"."""
    return _ACTIVATIONS[kind]()


def build_layers(
    widths: Sequence[int], *, norm: str, activation: str, output: nn.Module | None = None
) -> nn.Sequential:
    """Build linear layers, each but the last with norm and activation.

    Args:
        widths: Of the input and of every layer.
        norm: "layer" or "none".
        activation: See `build_activation`.
        output: Follows the last layer, and the norm does too then; None leaves it linear.
    """
    layers: list[nn.Module] = []
    last = len(widths) - 2
    for index, (a, b) in enumerate(pairwise(widths)):
        layers.append(nn.Linear(a, b))
        if index == last and output is None:
            break
        if norm == "layer":
            layers.append(nn.LayerNorm(b))
        layers.append(output if index == last and output else build_activation(activation))
    return nn.Sequential(*layers)


def begin_weight_(weight: Tensor, kind: str) -> None:
    """Draw the weights (..., in, out) of a linear layer in place.

    Args:
        weight: One layer, or several of one shape.
        kind: "normal", of deviation 0.02; or "orthogonal".
    """
    if kind == "normal":
        nn.init.trunc_normal_(weight, std=_STD)
        return
    for part in weight.flatten(0, -3) if weight.ndim > 2 else [weight]:
        nn.init.orthogonal_(part)


@torch.no_grad()
def begin_(module: nn.Module, kind: str) -> None:
    """Draw the weights of all linear layers in place, and set their biases to 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            begin_weight_(layer.weight, kind)
            nn.init.zeros_(layer.bias)
