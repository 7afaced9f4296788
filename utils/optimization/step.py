"""Clip and step: in one place."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.optimization.layout import lay_like


class GradientGroups:
    """Which parameters of a policy belong to the actor head, the critic head and the trunk."""

    NAMES = ("actor_head", "critic_head", "trunk")

    def __init__(self, model: nn.Module) -> None:
        """Sort the parameters of `model` by name."""
        self.parameters: list[nn.Parameter] = []
        groups: list[int] = []
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            prefix = name.split(".")[0]
            groups.append(self.NAMES.index(prefix) if prefix in self.NAMES else 2)
            self.parameters.append(parameter)
        self._groups = torch.tensor(groups)
        self._membership = self.membership()
        self._is_there = self._membership.any(dim=0).tolist()

    def membership(self) -> Tensor:
        """Return which group each parameter is in, (n_parameters, n_groups) of 0 and 1, float."""
        return nn.functional.one_hot(self._groups, len(self.NAMES)).to(torch.float32)

    def norms(self, per_parameter: Tensor) -> dict[str, float]:
        """Combine gradient norms of parameters into norms of groups, averaged over steps.

        Args:
            per_parameter: (n_steps, n_parameters) L2 norms.

        Returns:
            Mean L2 norm of each group that has parameters.
        """
        squares = per_parameter.cpu().square() @ self._membership
        means = squares.sqrt().mean(dim=0).tolist()
        return {
            name: mean
            for name, mean, is_there in zip(self.NAMES, means, self._is_there, strict=True)
            if is_there
        }


def clip_and_step(
    optimizer: torch.optim.Optimizer,
    parameters: list[nn.Parameter],
    *,
    max_grad_norm: float | Tensor | None,
) -> Tensor:
    """Take one optimiser step with the gradients that the parameters hold.

    Args:
        optimizer: Holds `parameters`.
        parameters: All of them; one without a gradient had no part in the loss.
        max_grad_norm: Scale the gradient of all parameters together down to this L2 norm, a tensor
            () where a captured graph shall read it anew each time; None leaves it.

    Returns:
        (n_parameters,) L2 norm of each parameter's gradient before clipping; not yet read back
        from the device.
    """
    gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
    # One fused call for all parameters: separate norms cost more than a small network's backward.
    norms = torch.stack(torch._foreach_norm(gradients))
    if max_grad_norm is not None:
        scale = (max_grad_norm / (norms.norm() + 1e-6)).clamp_max_(1.0)
        torch._foreach_mul_(gradients, scale)
    optimizer.step()
    return norms


def set_gradients(loss: Tensor, parameters: list[Tensor]) -> None:
    """Give parameters the gradient of a loss (), zeros where they have no part in it.

    It lies in memory as they do, as it would after `backward`.
    """
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = lay_like(gradient, parameter)
