"""Any torch optimiser, and those of this project, by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from utils.errors import ConfigError
from utils.optimization.laprop import LaProp

_OWN: dict[str, type[torch.optim.Optimizer]] = {"LaProp": LaProp}

# What these need, an agent does not give.
_UNSUITED = {
    "LBFGS": "it evaluates the loss several times a step",
    "SparseAdam": "it takes sparse gradients only",
}


def build_optimizer(
    name: str, parameters: Iterable[Any], *, lr: float, kwargs: Mapping[str, Any]
) -> torch.optim.Optimizer:
    """Build `torch.optim.<name>` or `LaProp`; the fused kernel is taken where the class has one.

    Args:
        name: Class name in `torch.optim`.
        parameters: What is optimised: parameters, or groups of them.
        lr: Learning rate at the start.
        kwargs: Further arguments of the class; they win over the defaults here.

    Raises:
        ConfigError: No such optimiser (the nearest is named), one that cannot train a policy, or
            an argument that it refuses.
    """
    known = {
        key: value
        for key, value in vars(torch.optim).items()
        if isinstance(value, type)
        and issubclass(value, torch.optim.Optimizer)
        and value is not torch.optim.Optimizer
    } | _OWN
    if name not in known:
        nearest = difflib.get_close_matches(name, known, 1) or sorted(known)
        raise ConfigError(f"optimizer: '{name}' is not in torch.optim; did you mean {nearest[0]}?")
    if name in _UNSUITED:
        raise ConfigError(f"optimizer: {name} cannot train a policy here: {_UNSUITED[name]}")
    optimizer_class = known[name]
    accepted = set(inspect.signature(optimizer_class).parameters) - {"params", "lr"}
    unknown = [key for key in kwargs if key not in accepted]
    if unknown:
        raise ConfigError(
            f"optimizer_kwargs: {name} takes no argument {', '.join(unknown)}; "
            f"it takes {', '.join(sorted(accepted))}"
        )
    defaults = {"fused": True} if "fused" in accepted and not kwargs.get("foreach") else {}
    try:
        return optimizer_class(parameters, lr=lr, **(defaults | dict(kwargs)))
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"optimizer_kwargs: {name}: {error}") from error


def set_learning_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the learning rate of every parameter group."""
    for group in optimizer.param_groups:
        group["lr"] = lr
