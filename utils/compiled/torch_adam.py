"""The settings and the state of torch's Adam, as the compiled step reads and writes them."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from utils.compiled.adam import AdamSettings


def adam_settings(optimizer: torch.optim.Optimizer, max_grad_norm: float | None) -> AdamSettings:
    """Read the settings of the one parameter group of an `Adam` or `AdamW`."""
    (group,) = optimizer.param_groups
    assert not group["amsgrad"], group
    assert not group["maximize"], group
    beta1, beta2 = group["betas"]
    return AdamSettings(
        lr=float(group["lr"]),
        beta1=float(beta1),
        beta2=float(beta2),
        eps=float(group["eps"]),
        weight_decay=float(group["weight_decay"]),
        is_decoupled=bool(group["decoupled_weight_decay"]),
        max_grad_norm=math.inf if max_grad_norm is None else float(max_grad_norm),
    )


def optimizer_addresses(
    optimizer: torch.optim.Optimizer, parameters: list[nn.Parameter]
) -> np.ndarray:
    """Return where parameters and optimiser state lie in memory now.

    State that is missing, before the first step, is made as torch makes it.

    Returns:
        (4, n_parameters) int64 addresses of parameter, `exp_avg`, `exp_avg_sq` and `step`.
    """
    addresses = np.empty((4, len(parameters)), dtype=np.int64)
    for k, parameter in enumerate(parameters):
        state = optimizer.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        step = state["step"]
        assert step.dtype == torch.float32, step.dtype
        addresses[:, k] = (
            parameter.data_ptr(),
            state["exp_avg"].data_ptr(),
            state["exp_avg_sq"].data_ptr(),
            step.data_ptr(),
        )
    return addresses
