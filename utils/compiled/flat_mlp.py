"""Linear layers of torch whose numbers lie where compiled functions work on them.

Nothing is copied between torch and the compiled functions: a layer's weight is a view of flat,
padded memory, and so is its state in an optimiser. Whoever loads, saves, copies or evaluates the
module finds it as it always was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from utils.compiled.network import Network, Scratch, plan_networks
from utils.compiled.tiles import aligned_zeros, padded


class FlatMLP:
    """Where the numbers of linear layers lie, one after another; see `utils.compiled.network`."""

    def __init__(self, layers: Sequence[nn.Linear], *, is_relu: bool) -> None:
        """Move the layers' parameters into flat memory.

        Args:
            layers: From input to output, float32 on the CPU; between them is a ReLU or tanh.
            is_relu: ReLU rather than tanh.
        """
        widths = [layers[0].in_features, *(layer.out_features for layer in layers)]
        (self.network,), self.scratch, self._size, n_transposed = plan_networks(
            [widths], is_relu=is_relu
        )
        self.network: Network
        self.scratch: Scratch
        self.layers = tuple(layers)
        self.memory = aligned_zeros(self._size)
        """Flat float32, the parameters; padding is zeros."""
        self.transposed = aligned_zeros(n_transposed)
        """Working memory of the backward pass."""
        for parameter, view in zip(self.parameters, self.views(self.memory), strict=True):
            view.copy_(parameter.detach())
            parameter.data = view

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Weight and bias of each layer."""
        return [p for layer in self.layers for p in (layer.weight, layer.bias)]

    def new_memory(self) -> np.ndarray:
        """Return zeros laid out like the parameters: a gradient, or moments."""
        return aligned_zeros(self._size)

    def views(self, memory: np.ndarray | Tensor) -> list[Tensor]:
        """Return the parts of flat memory, here or on a device, shaped as `parameters`."""
        flat, network, found = torch.as_tensor(memory), self.network, []
        for k, layer in enumerate(self.layers):
            n_in, n_out = layer.in_features, layer.out_features
            length = padded(n_out)
            weight = flat[network.weight_at[k] :][: n_in * length].view(n_in, length)[:, :n_out].t()
            found += [weight, flat[network.bias_at[k] :][:n_out]]
        return found


class FlatParameters(Protocol):
    """Parameters that are views of flat memory."""

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All of them."""

    def new_memory(self) -> np.ndarray:
        """Return zeros laid out like the parameters."""

    def views(self, memory: np.ndarray) -> list[Tensor]:
        """Return the parts of flat memory that are shaped as `parameters`."""


class FlatAdam:
    """The state of torch's Adam or AdamW for flat parameters, moved into flat memory as well."""

    def __init__(self, flat: FlatParameters) -> None:
        """Allocate both moments."""
        self._parameters = flat.parameters
        self.moment1, self.moment2 = flat.new_memory(), flat.new_memory()
        self._n_steps = torch.zeros(len(self._parameters))
        self._views = {
            "exp_avg": flat.views(self.moment1),
            "exp_avg_sq": flat.views(self.moment2),
            "step": list(self._n_steps.unbind()),
        }
        self._bound: object = None

    def bind(self, optimizer: torch.optim.Optimizer) -> int:
        """Make the optimiser's state views of the flat memory; returns the steps taken so far.

        Call it before each use: an optimiser that was loaded has tensors of its own. From then on
        its own step is not the fused one, which takes memory with gaps for memory without.
        """
        if optimizer.state is not self._bound:
            for group in optimizer.param_groups:
                group["fused"] = False
            for k, parameter in enumerate(self._parameters):
                self._take(optimizer.state[parameter], k)
            self._bound = optimizer.state
        return int(self._n_steps[0])

    def _take(self, state: dict[str, Tensor], k: int) -> None:
        """Move the state of parameter k into flat memory."""
        for name, views in self._views.items():
            number = state.get(name)
            if number is None:
                views[k].zero_()
            elif number.data_ptr() != views[k].data_ptr():
                views[k].copy_(number)
            state[name] = views[k]

    def count(self, n_steps: int) -> None:
        """Write the number of steps taken so far into the optimiser's state."""
        self._n_steps.fill_(n_steps)
