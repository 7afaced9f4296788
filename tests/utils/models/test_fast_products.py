from __future__ import annotations

import torch

from utils.models.fast_products import fast_products, products_by_tensor_cores


def test_fast_products_have_the_precision_of_float32_and_leave_the_setting() -> None:
    before = torch.backends.mkldnn.matmul.fp32_precision
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn((2, 256, 256), generator=generator)
    with fast_products():
        product = left @ right
    assert torch.backends.mkldnn.matmul.fp32_precision == before
    # Sums of 256 terms of size 1: float32 has a mean error of 3e-6, bfloat16 one of 0.03.
    assert (product - left.double() @ right.double()).abs().mean() < 3e-5


def test_factors_are_rounded_inside_alone_and_where_a_gpu_has_been_used(monkeypatch) -> None:
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    with products_by_tensor_cores():
        inside = settings.fp32_precision
    assert inside == ("tf32" if torch.cuda.is_initialized() else before)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with products_by_tensor_cores():
        assert settings.fp32_precision == "tf32"
    assert settings.fp32_precision == before
