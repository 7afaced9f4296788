"""The order of samples, drawn on the device."""

from __future__ import annotations

import torch
from torch import Tensor


def shuffled_passes(
    n_samples: int, *, n_passes: int, batch_size: int, generator: torch.Generator
) -> Tensor:
    """Draw a table of indices: each pass is a permutation, cut into minibatches.

    On CUDA a permutation is the order of random 31-bit keys, which a graph can capture.

    Args:
        n_samples: A multiple of `batch_size`.
        n_passes: Passes over the samples.
        batch_size: Samples of a minibatch.
        generator: On the device where the table shall be.

    Returns:
        (n_passes * n_samples / batch_size, batch_size) int64.
    """
    assert n_samples % batch_size == 0, (n_samples, batch_size)
    passes = [_permutation(n_samples, generator) for _ in range(n_passes)]
    return torch.cat(passes).view(-1, batch_size)


def _permutation(n: int, generator: torch.Generator) -> Tensor:
    if generator.device.type == "cpu":
        return torch.randperm(n, generator=generator)
    keys = torch.empty(n, dtype=torch.int32, device=generator.device)
    return keys.random_(generator=generator).argsort()
