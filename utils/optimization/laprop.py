"""LaProp, and gradients clipped by the size of what they change."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from typing_extensions import override


def mark_stacked(parameter: Tensor, n_layers: int) -> None:
    """Say that a parameter is that of n layers, one above the other: each is clipped by itself.

    Args:
        parameter: (n * rows, ...)
        n_layers: How many (n).
    """
    assert len(parameter) % n_layers == 0, (parameter.shape, n_layers)
    parameter.n_stacked_layers = n_layers  # type: ignore[attr-defined]


def _by_layers(parameters: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Return gradients and parameters of each layer of some parameters; views."""
    gradients: list[Tensor] = []
    layers: list[Tensor] = []
    for parameter in parameters:
        n_layers = getattr(parameter, "n_stacked_layers", None)
        gradient = parameter.grad
        assert gradient is not None
        gradients += [gradient] if n_layers is None else gradient.chunk(n_layers)
        layers += [parameter] if n_layers is None else parameter.chunk(n_layers)
    return gradients, layers


def clip_adaptively_(
    gradients: list[Tensor], parameters: list[Tensor], *, ratio: float, floor: float = 1e-3
) -> None:
    """Scale each gradient down, in place, to at most `ratio` of its parameter's L2 norm.

    Brock et al. 2021, "High-performance large-scale image recognition without normalization",
    equation 3, by whole tensors; so in DreamerV3.

    Args:
        gradients: Of each parameter.
        parameters: The parameters.
        ratio: Highest ratio of the norms, > 0.
        floor: Least norm that a parameter counts with.
    """
    of_parameters = torch.stack(torch._foreach_norm(parameters))
    of_gradients = torch.stack(torch._foreach_norm(gradients))
    limit = ratio * of_parameters.clamp_min_(floor)
    scale = limit / torch.maximum(of_gradients, limit)
    torch._foreach_mul_(gradients, list(scale.unbind()))


class LaProp(torch.optim.Optimizer):
    """Adam in another order: gradients are normalised first, then averaged.

    ``n = b2 n + (1 - b2) g^2``, ``u = g / (sqrt(n / (1 - b2^t)) + eps)``,
    ``m = b1 m + (1 - b1) u``, ``p = p - lr m / (1 - b1^t)``

    Liu et al. 2020, "LaProp: separating momentum and adaptivity in Adam", algorithm 1, with
    momentum corrected for its start as in DreamerV3. All parameters are changed by a few fused
    operations; the count of steps lies beside them, so that a graph of a GPU can replay a step.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 4e-5,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-20,
        agc: float | None = 0.3,
        agc_floor: float = 1e-3,
        capturable: bool = False,
    ) -> None:
        """Hold parameters.

        Args:
            params: Parameters, or groups of them.
            lr: Learning rate.
            betas: Decay of the momentum and of the mean square.
            eps: Added to the root of the mean square.
            agc: Clip gradients adaptively to this ratio first; None does not. See
                `clip_adaptively_`.
            agc_floor: See `clip_adaptively_`.
            capturable: The step is being captured: `lr` is a tensor on the parameters' device.
        """
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "agc": agc,
            "agc_floor": agc_floor,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @torch.no_grad()
    @override
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change every parameter that has a gradient; the gradients are scratch space."""
        assert closure is None, "a closure is never called"
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._check_counts(group["params"], parameters)
                self._step(group, parameters)

    def _check_counts(self, all_of_group: list[Tensor], parameters: list[Tensor]) -> None:
        """One count of steps stands for the whole group: nothing may join or leave later."""
        known = [p for p in all_of_group if p in self.state]
        together = not known or (
            len(known) == len(parameters) and all(p in self.state for p in parameters)
        )
        assert together, ("parameters of a group begin together", len(known), len(parameters))

    def _step(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        gradients = [p.grad for p in parameters]
        states = [self._state_of(p) for p in parameters]
        squares = [state["square"] for state in states]
        momenta = [state["momentum"] for state in states]
        momentum_decay, square_decay = group["betas"]
        if group["agc"] is not None:
            of_layers, layers = _by_layers(parameters)
            clip_adaptively_(of_layers, layers, ratio=group["agc"], floor=group["agc_floor"])
        torch._foreach_mul_(squares, square_decay)
        torch._foreach_addcmul_(squares, gradients, gradients, 1.0 - square_decay)
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1.0)
        step = steps[0]  # all of a group have made as many
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, _share_of_past(square_decay, step).sqrt())
        torch._foreach_add_(roots, group["eps"])
        updates = torch._foreach_div(gradients, roots)
        torch._foreach_lerp_(momenta, updates, 1.0 - momentum_decay)
        rate = -group["lr"] / _share_of_past(momentum_decay, step)
        torch._foreach_add_(parameters, torch._foreach_mul(momenta, rate))

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            state["square"] = torch.zeros_like(parameter)
            state["momentum"] = torch.zeros_like(parameter)
        return state


def _share_of_past(decay: float, step: Tensor) -> Tensor:
    """Return ``1 - decay^step`` without taking two nearly equal numbers from each other."""
    return -torch.expm1(step * math.log(decay)) if decay > 0.0 else torch.ones_like(step)
