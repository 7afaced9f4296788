"""Checks every tensor that passes a network, and counts what its values are like."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from utils.errors import DivergedError


@dataclass(slots=True)
class Moments:
    """What the values of a tensor were like, over all times it was seen."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    largest: float = 0.0
    n_zeros: int = 0

    def add(self, values: Tensor) -> None:
        """Take in a tensor of finite numbers of any shape."""
        values = values.detach().double()
        self.count += values.numel()
        self.total += float(values.sum())
        self.squares += float(values.square().sum())
        self.largest = max(self.largest, float(values.abs().max()))
        self.n_zeros += int((values == 0).sum())

    def to_dict(self) -> dict[str, float]:
        """Return mean, standard deviation, largest size and the share of zeros."""
        mean = self.total / self.count
        return {
            "mean": mean,
            "std": math.sqrt(max(0.0, self.squares / self.count - mean**2)),
            "largest": self.largest,
            "zeros": self.n_zeros / self.count,
        }


class NetworkWatch:
    """Watches modules, gradients and weights by hooks, until it is released.

    A number that is not finite ends the training at the place where it appears first: the output
    of a module whose input was fine, the gradient of a parameter before a step, a weight after it.
    """

    def __init__(self, networks: Mapping[str, nn.Module], *, where: Callable[[], str]) -> None:
        """Hook into all modules without parts.

        Args:
            networks: By name, which messages put before the names of their parts.
            where: Says how far the training is, such as "epoch 3".
        """
        self._where = lambda: f"{where()}, optimiser step {self.n_steps + 1:,}"
        self.n_steps = 0
        """Steps of all optimisers since the watch began."""
        self._handles: list[RemovableHandle] = []
        self._names: dict[int, str] = {}
        self.activations: dict[str, Moments] = {}
        self.gradients: dict[str, Moments] = {}
        self._networks = dict(networks)
        for name, parameter in self._parameters():
            self._names[id(parameter)] = name
        for prefix, network in networks.items():
            for name, module in network.named_modules():
                if not any(True for _ in module.children()):
                    hook = self._module_hook(".".join(filter(None, (prefix, name))))
                    self._handles.append(module.register_forward_hook(hook))

    def watch_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Check gradients before each step and weights after it."""
        self._handles.append(optimizer.register_step_pre_hook(self._check_gradients))
        self._handles.append(optimizer.register_step_post_hook(self._check_weights))

    def release(self) -> None:
        """Take all hooks away."""
        while self._handles:
            self._handles.pop().remove()

    def take_statistics(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return activations, gradients and weights by name, and begin anew with the first two."""
        weights = {}
        for name, parameter in self._parameters():
            moments = Moments()
            moments.add(parameter)
            weights[name] = moments.to_dict()
        taken = {
            "activations": {name: seen.to_dict() for name, seen in self.activations.items()},
            "gradients": {name: seen.to_dict() for name, seen in self.gradients.items()},
            "weights": weights,
        }
        self.activations, self.gradients = {}, {}
        return taken

    def _parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        for prefix, network in self._networks.items():
            for name, parameter in network.named_parameters():
                if parameter.numel():
                    yield f"{prefix}.{name}", parameter

    def _module_hook(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        def look(module: nn.Module, inputs: Any, outputs: Any) -> None:
            for output in _tensors(outputs):
                if not _can_read(output):
                    continue
                if not bool(torch.isfinite(output).all()):
                    self._refuse_output(name, module, inputs, output)
                self.activations.setdefault(name, Moments()).add(output)

        return look

    def _refuse_output(self, name: str, module: nn.Module, inputs: Any, output: Tensor) -> None:
        kind = type(module).__name__
        state = "its input was finite"
        for given in _tensors(inputs):
            if _can_read(given) and not bool(torch.isfinite(given).all()):
                state = f"its input already {_describe(given)}"
        for key, parameter in module.named_parameters(recurse=False):
            if not bool(torch.isfinite(parameter).all()):
                state = f"its {key} {_describe(parameter)}"
        raise DivergedError(
            f"debug: the output of {name} ({kind}, {tuple(output.shape)}) {_describe(output)} "
            f"in {self._where()}; {state}"
        )

    def _check_gradients(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for parameter in _parameters_of(optimizer):
            gradient = parameter.grad
            if gradient is None or not _can_read(gradient):
                continue
            name = self._names.get(id(parameter), "a parameter")
            if not bool(torch.isfinite(gradient).all()):
                raise DivergedError(
                    f"debug: the gradient of {name} {tuple(gradient.shape)} {_describe(gradient)} "
                    f"before the optimiser's step in {self._where()}; its weights are finite"
                )
            self.gradients.setdefault(name, Moments()).add(gradient)

    def _check_weights(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._check_weights_of(optimizer)
        self.n_steps += 1

    def _check_weights_of(self, optimizer: torch.optim.Optimizer) -> None:
        for parameter in _parameters_of(optimizer):
            if _can_read(parameter) and not bool(torch.isfinite(parameter).all()):
                name = self._names.get(id(parameter), "a parameter")
                raise DivergedError(
                    f"debug: {name} {tuple(parameter.shape)} {_describe(parameter)} after the "
                    f"optimiser's step in {self._where()}; its gradient was finite, so the step is "
                    "to blame: the learning rate, or the optimiser's own statistics"
                )


def _parameters_of(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        yield from (parameter for parameter in group["params"] if parameter.numel())


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples, lists and mappings."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def _can_read(tensor: Tensor) -> bool:
    """Say whether the numbers of a tensor are there to be looked at."""
    if not tensor.is_floating_point() or not tensor.numel():
        return False
    return not (tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def _describe(tensor: Tensor) -> str:
    n_nan, n_inf = int(torch.isnan(tensor).sum()), int(torch.isinf(tensor).sum())
    parts = [f"{n} {what}" for n, what in ((n_nan, "NaN"), (n_inf, "infinite")) if n]
    first = (~torch.isfinite(tensor)).nonzero()[0].tolist()
    return f"holds {' and '.join(parts)} of {tensor.numel()} values, the first at {first}"
