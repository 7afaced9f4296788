from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from utils.models.dense_passes import DensePasses, fast_products


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("lead", [(), (3,)])
def test_passes_are_those_of_torchs_graph(activation: str, lead: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(shape, generator=generator).requires_grad_()  # noqa: E731
    widths = [5, 7, 6, 2]
    weights = [draw(*lead, a, b) for a, b in pairwise(widths)]
    biases = [draw(*lead, 1, b) if lead else draw(b) for b in widths[1:]]
    inputs = draw(4, 5)
    hidden = inputs
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        hidden = hidden @ weight + bias
        hidden = getattr(torch, activation)(hidden) if k < 2 else hidden
    delta = torch.randn(hidden.shape, generator=generator)
    hidden.backward(delta)

    passes = DensePasses(
        [w.detach() for w in weights],
        [b.detach() for b in biases],
        activation=activation,
        n_rows=4,
    )
    torch.testing.assert_close(passes.forward(inputs.detach()), hidden.detach())
    gradients = [
        (torch.empty_like(w), torch.empty_like(b)) for w, b in zip(weights, biases, strict=True)
    ]
    of_inputs = passes.input_gradient(delta, columns=slice(2, None))
    torch.testing.assert_close(of_inputs, inputs.grad[:, 2:])
    passes.backward(delta, gradients)
    for (of_weight, of_bias), weight, bias in zip(gradients, weights, biases, strict=True):
        torch.testing.assert_close(of_weight, weight.grad)
        torch.testing.assert_close(of_bias, bias.grad)


def test_fast_products_have_the_precision_of_float32_and_leave_the_setting() -> None:
    before = torch.backends.mkldnn.matmul.fp32_precision
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn((2, 256, 256), generator=generator)
    with fast_products():
        product = left @ right
    assert torch.backends.mkldnn.matmul.fp32_precision == before
    # Sums of 256 terms of size 1: float32 has a mean error of 3e-6, bfloat16 one of 0.03.
    assert (product - left.double() @ right.double()).abs().mean() < 3e-5
