"""Several networks of one shape, and single numbers, where compiled functions work on them.

As `utils.compiled.flat_mlp` does for one network: parameters become views of flat, padded memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from utils.compiled.network import Network, Scratch, plan_networks
from utils.compiled.tiles import aligned_zeros, padded


class FlatEnsemble:
    """Where the numbers of E networks lie, whose layers' parameters are stacked."""

    def __init__(
        self, weights: Sequence[nn.Parameter], biases: Sequence[nn.Parameter], *, is_relu: bool
    ) -> None:
        """Move the parameters into flat memory, one network after another.

        Args:
            weights: (E, in, out) of each layer from input to output, float32 on the CPU.
            biases: (E, 1, out) of each layer.
            is_relu: ReLU rather than tanh between the layers.
        """
        self.parameters = [p for pair in zip(weights, biases, strict=True) for p in pair]
        self._widths = [weights[0].shape[1], *(weight.shape[2] for weight in weights)]
        self._n_networks = len(weights[0])
        (self.network,), self.scratch, self._size, n_transposed = plan_networks(
            [self._widths], is_relu=is_relu
        )
        self.network: Network
        """Of each, in its own row of all memory."""
        self.scratch: Scratch
        """Of the first one."""
        self.scratches = np.tile(self.scratch.memory, (self._n_networks, 1))
        """(E, ...) working memory of each network, so that the activations of all stay."""
        self.memory = self.new_memory()
        """(E, size) float32, the parameters; padding is zeros."""
        self.transposed = aligned_zeros(self._n_networks * n_transposed).reshape(
            self._n_networks, -1
        )
        """(E, ...) working memory of the backward pass."""
        for parameter, view in zip(self.parameters, self.views(self.memory), strict=True):
            view.copy_(parameter.detach())
            parameter.data = view

    def new_memory(self) -> np.ndarray:
        """Return zeros laid out like the parameters: a gradient, or moments."""
        return aligned_zeros(self._n_networks * self._size).reshape(self._n_networks, self._size)

    def views(self, memory: np.ndarray) -> list[Tensor]:
        """Return the parts of flat memory that are shaped as `parameters`."""
        flat, network, found = torch.from_numpy(memory).view(-1), self.network, []
        lead, step = self._n_networks, self._size
        for k, (n_in, n_out) in enumerate(itertools.pairwise(self._widths)):
            weight_at, bias_at = int(network.weight_at[k]), int(network.bias_at[k])
            length = padded(n_out)
            found.append(flat.as_strided((lead, n_in, n_out), (step, length, 1), weight_at))
            found.append(flat.as_strided((lead, 1, n_out), (step, n_out, 1), bias_at))
        return found


class FlatNumber:
    """A parameter that is one number."""

    def __init__(self, parameter: nn.Parameter) -> None:
        """Move a parameter () into memory that compiled functions see."""
        self.parameters = [parameter]
        self.memory = self.new_memory()
        (view,) = self.views(self.memory)
        view.copy_(parameter.detach())
        parameter.data = view

    def new_memory(self) -> np.ndarray:
        """Return room for one number: a gradient, or moments."""
        return np.zeros(1, dtype=np.float32)

    def views(self, memory: np.ndarray) -> list[Tensor]:
        """Return the memory as a tensor ()."""
        return [torch.from_numpy(memory)[0]]
