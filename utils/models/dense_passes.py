"""Forward and backward passes of plain networks, written out, in memory that is used again.

What torch's graph does for a small network is mostly bookkeeping. These passes call the same
matrix products, in the same order, with everything around them left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor, nn

_AGREEMENT = 1e-6
"""Bound of the mean error of sums near 0.25: float32 has about 1e-8, bfloat16 above 1e-5."""


class DensePasses:
    """One network, or E of one shape side by side, with ReLU or tanh between the layers.

    Results lie in memory of this object and are valid until the same pass is made again.
    """

    def __init__(
        self, weights: Sequence[Tensor], biases: Sequence[Tensor], *, activation: str, n_rows: int
    ) -> None:
        """Bind parameters, whose `grad` the backward pass fills.

        Args:
            weights: Each layer's (in, out), or (E, in, out); views that see later changes.
            biases: Each layer's (out,), or (E, 1, out).
            activation: "relu" or "tanh".
            n_rows: Rows B of a batch.
        """
        assert activation in ("relu", "tanh"), activation
        self._weights, self._biases = list(weights), list(biases)
        self._is_relu = activation == "relu"
        self._is_stacked = weights[0].ndim == 3
        lead = (weights[0].shape[0],) if self._is_stacked else ()
        self._outputs = [weight.new_empty(*lead, n_rows, weight.shape[-1]) for weight in weights]
        self._deltas = [torch.empty_like(output) for output in self._outputs[:-1]]
        self._inputs: Tensor | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        """Map inputs (B, in) to outputs (B, out), or (E, B, out)."""
        hidden = self._inputs = self._expand(inputs)
        multiply = torch.baddbmm if self._is_stacked else torch.addmm
        last = len(self._weights) - 1
        for index, (weight, bias) in enumerate(zip(self._weights, self._biases, strict=True)):
            hidden = multiply(bias, hidden, weight, out=self._outputs[index])
            if index < last:
                (torch.relu_ if self._is_relu else torch.tanh_)(hidden)
        return hidden

    def backward(self, delta: Tensor, gradients: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Write the gradients of all parameters, given that of the outputs.

        Args:
            delta: Of the shape of the outputs of the last forward pass.
            gradients: For each layer those of weight and bias, in the shapes of the parameters;
                what they held is replaced.
        """
        assert self._inputs is not None
        below = [self._inputs, *self._outputs[:-1]]
        multiply = torch.bmm if self._is_stacked else torch.mm
        for index in range(len(self._weights) - 1, -1, -1):
            of_weight, of_bias = gradients[index]
            multiply(below[index].transpose(-1, -2), delta, out=of_weight)
            torch.sum(delta, dim=-2, keepdim=self._is_stacked, out=of_bias)
            if index:
                delta = self._pass_back(delta, index)

    def input_gradient(self, delta: Tensor, *, columns: slice) -> Tensor:
        """Return the gradient of some columns of the inputs, (B, n), summed over the E networks.

        Args:
            delta: Of the shape of the outputs of the last forward pass.
            columns: Which inputs.
        """
        for index in range(len(self._weights) - 1, 0, -1):
            delta = self._pass_back(delta, index)
        multiply = torch.bmm if self._is_stacked else torch.mm
        gradient = multiply(delta, self._weights[0][..., columns, :].transpose(-1, -2))
        return gradient.sum(dim=0) if self._is_stacked else gradient

    def _pass_back(self, delta: Tensor, index: int) -> Tensor:
        """Return the gradient before the activation of the layer below layer `index`."""
        multiply = torch.bmm if self._is_stacked else torch.mm
        below, output = self._deltas[index - 1], self._outputs[index - 1]
        multiply(delta, self._weights[index].transpose(-1, -2), out=below)
        if self._is_relu:
            torch.ops.aten.threshold_backward.grad_input(below, output, 0, grad_input=below)
        else:
            torch.ops.aten.tanh_backward.grad_input(below, output, grad_input=below)
        return below

    def _expand(self, inputs: Tensor) -> Tensor:
        return inputs.expand(len(self._weights[0]), *inputs.shape) if self._is_stacked else inputs


def linear_layers(*modules: nn.Module) -> list[nn.Linear]:
    """Return the linear layers of some modules, in order."""
    return [
        layer for module in modules for layer in module.modules() if isinstance(layer, nn.Linear)
    ]


@contextmanager
def fast_products() -> Iterator[None]:
    """Let float32 matrix products on the CPU take the faster of torch's two libraries.

    On some processors the library that torch asks first leaves half of the vector unit idle. The
    other one is asked only if it may round to bfloat16, which it does where the processor has
    units for that; so it is tried once, and taken only if its products are those of float32.
    """
    if not _is_exact():
        yield
        return
    settings = torch.backends.mkldnn.matmul
    before = settings.fp32_precision
    settings.fp32_precision = "bf16"
    try:
        yield
    finally:
        settings.fp32_precision = before


@cache
def _is_exact() -> bool:
    """Say whether the second library keeps the precision of float32 on this processor."""
    if not torch.backends.mkldnn.is_available():
        return False
    settings = torch.backends.mkldnn.matmul
    generator = torch.Generator().manual_seed(0)
    left = torch.rand((256, 256), generator=generator)
    right = torch.rand((256, 256), generator=generator) / 256
    before = settings.fp32_precision
    settings.fp32_precision = "bf16"
    try:
        product = left @ right
    finally:
        settings.fp32_precision = before
    return bool((product - left.double() @ right.double()).abs().mean() < _AGREEMENT)
