"""Draws for some rows of a batch as they are in the whole batch."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.distributions.protocol import ActionDistribution, Parameters


def sample_rows(
    distribution: ActionDistribution,
    parameters: Parameters,
    generator: torch.Generator | None,
    *,
    first: int,
    total: int,
    dim: int = 0,
) -> Tensor:
    """Draw actions of rows `first` to `first` + B - 1 of a batch of `total` rows.

    The random numbers of the other rows are drawn too and thrown away, so that several processes
    with equal generators draw together what one process alone would draw.

    Args:
        distribution: Of the actions.
        parameters: (B, ...) of these rows, or (T, B, ...) with `dim` 1; one without rows (ndim 1)
            holds for all.
        generator: As `sample` takes it.
        first: Number of the first of these rows.
        total: Rows of the whole batch.
        dim: Of the rows.
    """
    n = parameters[0].shape[dim]
    assert 0 <= first <= first + n <= total, (first, n, total)
    whole = []
    for parameter in parameters:
        if parameter.ndim > 1:
            shape = list(parameter.shape)
            shape[dim] = total
            padded = parameter.new_zeros(shape)
            padded.narrow(dim, first, n).copy_(parameter)
            parameter = padded
        whole.append(parameter)
    return distribution.sample(tuple(whole), generator).narrow(dim, first, n)
