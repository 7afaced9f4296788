"""Matrix products of float32 by the fastest way there is that keeps what learning needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

_AGREEMENT = 1e-6
"""Bound of the mean error of sums near 0.25: float32 has about 1e-8, bfloat16 above 1e-5."""


@contextmanager
def fast_products() -> Iterator[None]:
    """Let float32 matrix products be fast: as `products_by_tensor_cores` and on the CPU."""
    with products_by_tensor_cores(), _fast_on_the_cpu():
        yield


@contextmanager
def products_by_tensor_cores() -> Iterator[None]:
    """Let float32 matrix products on a GPU round their factors to 10 bits of mantissa (TF32).

    Sums stay float32, as convolutions have it anyway. What is captured in here keeps it. Nothing
    changes where no GPU has been used.
    """
    if not torch.cuda.is_initialized():
        yield
        return
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    settings.fp32_precision = "tf32"
    try:
        yield
    finally:
        settings.fp32_precision = before


@contextmanager
def _fast_on_the_cpu() -> Iterator[None]:
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
