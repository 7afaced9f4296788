"""The layers of a model of latent states: torch's matrix products, fused kernels between them.

Rows are float32 on the GPU; nothing follows gradients. Needs Triton.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
import triton
from torch import Tensor, nn

from utils.models.triton_support import assert_dense
from utils.policies.fused_planning.availability import ALIGNMENT
from utils.policies.fused_planning.kernels import norm_mish_kernel, norm_simplex_kernel
from utils.world_models.latent_layers import SimplexNorm
from utils.world_models.value_ensemble import ValueEnsemble

_EPS = 1e-5
"""Of the norms of `ValueEnsemble`."""


def padded(width: int) -> int:
    """Return the next multiple of 8 numbers, which tensor cores can read."""
    return math.ceil(width / ALIGNMENT) * ALIGNMENT


@dataclass(slots=True)
class PaddedWeights:
    """Weights whose sides are no multiples of 8, and their copies, filled up with zeros.

    A copy is as old as the last `refresh`.
    """

    copies: dict[nn.Parameter, Tensor] = field(default_factory=dict)
    parts: list[Tensor] = field(default_factory=list)
    """What of each copy is the weight itself."""

    def of(self, weight: nn.Parameter) -> Tensor:
        """Return a weight (..., a, b) such that a and b are multiples of 8, copied if need be."""
        *leading, a, b = weight.shape
        if a == padded(a) and b == padded(b):
            return weight.detach()
        if weight not in self.copies:
            shape = (*leading, padded(a), padded(b))
            # What inference mode makes, a view too, can be written to only there.
            with torch.inference_mode(False), torch.no_grad():
                copy = torch.zeros(shape, device=weight.device)
                part = copy[..., :a, :b]
                part.copy_(weight)
            self.copies[weight] = copy
            self.parts.append(part)
        return self.copies[weight]

    def refresh(self) -> None:
        """Copy what the weights have become."""
        if self.parts:
            torch._foreach_copy_(self.parts, [weight.detach() for weight in self.copies])


def run_layers(layers: nn.Sequential, rows: Tensor, weights: PaddedWeights) -> Tensor:
    """Return the last matrix product of `build_layers`' layers, without its bias.

    Args:
        layers: Linear, norm and mish in turn; what follows the last linear layer is left out.
        rows: (M, padded width of the input), contiguous or with aligned rows.
        weights: Of all layers.
    """
    linears = [module for module in layers if isinstance(module, nn.Linear)]
    norms = [module for module in layers if isinstance(module, nn.LayerNorm)]
    for linear, norm in zip(linears[:-1], norms, strict=False):
        rows = rows @ weights.of(linear.weight).t()
        _norm_mish(rows, linear.bias, norm.weight, norm.bias, norm.eps)
    return rows @ weights.of(linears[-1].weight).t()


def write_next(layers: nn.Sequential, rows: Tensor, out: Tensor, weights: PaddedWeights) -> None:
    """Write the latent states that rows of state and action lead to.

    Args:
        layers: Of the dynamics, whose end is a norm and `SimplexNorm`.
        rows: (M, padded width), each a state, an action and zeros.
        out: (M, padded width) likewise, of which the state is written.
        weights: Of all layers.
    """
    linear, norm, simplex = layers[-3], layers[-2], layers[-1]
    assert isinstance(simplex, SimplexNorm), simplex
    assert isinstance(linear, nn.Linear), linear
    assert isinstance(norm, nn.LayerNorm), norm
    product = run_layers(layers, rows, weights)
    width = linear.out_features
    assert product.shape[1] == width, (product.shape, width)
    assert out.stride(1) == 1, out.stride()
    assert_dense(product, linear.bias, norm.weight, norm.bias)
    norm_simplex_kernel[(len(product),)](
        product,
        linear.bias,
        norm.weight,
        norm.bias,
        out,
        out.stride(0),
        WIDTH=width,
        GROUP=simplex.group,
        EPS=norm.eps,
        GROUPS=triton.next_power_of_2(width // simplex.group),
        GROUP_BLOCK=triton.next_power_of_2(simplex.group),
        num_warps=2,
    )


def run_critics(critics: ValueEnsemble, rows: Tensor, weights: PaddedWeights) -> Tensor:
    """Return the last products of all critics without biases, (E, M, padded outputs)."""
    hidden = rows.expand(critics.n_critics, *rows.shape)
    layers = zip(critics.weights, critics.biases, critics.scales, critics.shifts, strict=False)
    for weight, bias, scale, shift in layers:
        hidden = torch.bmm(hidden, weights.of(weight))
        _norm_mish(hidden, bias, scale, shift, _EPS)
    return torch.bmm(hidden, weights.of(critics.weights[-1]))


def _norm_mish(rows: Tensor, bias: Tensor, scale: Tensor, shift: Tensor, eps: float) -> None:
    """Norm (..., M, W) contiguous rows and apply mish, in place; the others are (..., W)."""
    *_, n_rows, width = rows.shape
    assert_dense(rows, bias, scale, shift)
    norm_mish_kernel[(rows.numel() // width,)](
        rows,
        bias,
        scale,
        shift,
        n_rows,
        WIDTH=width,
        EPS=eps,
        BLOCK=triton.next_power_of_2(width),
        num_warps=2,
    )
