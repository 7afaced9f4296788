from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from utils.world_models.phased_convolutions import DoublingConv2d, PhasedConv2d


def plain(layer: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    return F.conv2d(x, layer.weight, layer.bias, padding=2)


def doubled(layer: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    return plain(layer, F.interpolate(x, scale_factor=2, mode="nearest"))


@pytest.mark.parametrize("shape", [(2, 3, 8, 6), (1, 4, 2, 10), (3, 1, 4, 4)])
@pytest.mark.parametrize(
    ("kind", "phased", "reference"),
    [
        (DoublingConv2d, DoublingConv2d.forward, doubled),
        (PhasedConv2d, PhasedConv2d.by_phases, plain),
        (PhasedConv2d, PhasedConv2d.forward, plain),
    ],
    ids=["doubling", "phases", "as the CPU does it"],
)
@pytest.mark.parametrize("n_outputs", [1, 3, 6])
def test_results_and_gradients_are_those_of_the_convolution(
    kind, phased, reference, shape, n_outputs
) -> None:
    torch.manual_seed(0)
    layer = kind(shape[1], n_outputs).double()
    results = []
    for function in (phased, reference):
        x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        x.requires_grad_()
        y = function(layer, x)
        places = torch.arange(y.numel(), dtype=torch.float64).sin().view(y.shape)
        gradients = torch.autograd.grad((places * y).sum(), [x, layer.weight, layer.bias])
        results.append((y, *gradients))
    torch.testing.assert_close(results[0], results[1], rtol=1e-12, atol=1e-12)


def test_one_doubled_place_by_hand() -> None:
    # A single place of 2 becomes 2 x 2 places of 2 with nothing around. Of weights 1 to 25, row by
    # row, the result reads 13 + 14 + 18 + 19 = 64, 12 + 13 + 17 + 18 = 60, 8 + 9 + 13 + 14 = 44 and
    # 7 + 8 + 12 + 13 = 40.
    layer = DoublingConv2d(1, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(1.0, 26.0).view(1, 1, 5, 5))
        layer.bias.fill_(0.5)
    assert layer(torch.full((1, 1, 1, 1), 2.0)).tolist() == [[[[128.5, 120.5], [88.5, 80.5]]]]


def test_the_saved_weights_are_those_of_a_plain_convolution() -> None:
    for layer in (DoublingConv2d(3, 4), PhasedConv2d(3, 4)):
        shapes = {name: tuple(value.shape) for name, value in layer.state_dict().items()}
        assert shapes == {"weight": (4, 3, 5, 5), "bias": (4,)}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", [DoublingConv2d, PhasedConv2d])
@pytest.mark.parametrize("n_outputs", [3, 8])
def test_a_gpu_computes_the_same(kind, n_outputs, monkeypatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    torch.manual_seed(0)
    layer = kind(3, n_outputs)
    x = torch.randn(5, 3, 16, 12)
    reference = doubled if kind is DoublingConv2d else plain

    def results(y: torch.Tensor, given: torch.Tensor) -> list[torch.Tensor]:
        places = torch.arange(y.numel(), dtype=torch.float32).sin().view(y.shape).to(y.device)
        loss = (places * y).sum()
        gradients = torch.autograd.grad(loss, [given, layer.weight, layer.bias])
        return [part.cpu() for part in (y, *gradients)]

    expected = results(reference(layer, x.requires_grad_()), x)
    layer.to("cuda")
    for memory_format in (torch.contiguous_format, torch.channels_last):
        there = x.detach().to("cuda").contiguous(memory_format=memory_format).requires_grad_()
        torch.testing.assert_close(results(layer(there), there), expected, rtol=1e-4, atol=1e-3)
