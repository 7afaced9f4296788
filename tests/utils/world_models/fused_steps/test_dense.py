"""Dense layers by a product and a kernel against torch's operations one by one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.helpers.fused_steps import fused_steps, noted_launches
from tests.helpers.triton_device import DEVICE
from utils.world_models.fused_steps.dense import dense_layer
from utils.world_models.layers import NORM_EPSILON, DenseLayer, build_dense_stack


def build_stack(n_inputs: int, width: int, *, n_layers: int = 2) -> nn.Sequential:
    torch.manual_seed(0)
    stack = build_dense_stack(n_inputs, width, n_layers=n_layers, norm="rms", activation="silu")
    for parameter in stack.parameters():
        if parameter.ndim == 1:
            nn.init.normal_(parameter)
    return stack.to(DEVICE)


def learn(stack: nn.Module, x: torch.Tensor, *, are_used: bool) -> list[torch.Tensor]:
    """Return outputs and gradients of a sum in which every number has its own weight."""
    with fused_steps(are_used=are_used):
        y = stack(x)
    places = torch.arange(y.numel(), dtype=torch.float32, device=DEVICE).sin().view(y.shape)
    return [y.detach(), *torch.autograd.grad((places * y).sum(), [x, *stack.parameters()])]


@pytest.mark.parametrize(
    ("shape", "width"), [((3, 5), 8), ((1, 1), 1), ((2, 3, 5), 33), ((3001, 5), 24)]
)
def test_values_and_gradients_are_those_of_torch(shape: tuple[int, ...], width: int) -> None:
    stack = build_stack(shape[-1], width)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(DEVICE).requires_grad_()
    mine, theirs = (learn(stack, x, are_used=are_used) for are_used in (True, False))
    for a, b in zip(mine, theirs, strict=True):
        assert a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5 * float(b.abs().max()) + 1e-6)


def test_half_precision_errs_no_more_than_torch() -> None:
    stack = build_stack(16, 32, n_layers=1)
    x = torch.randn((64, 16), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    x.requires_grad_()
    exact = learn(stack, x, are_used=False)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        mine, theirs = (learn(stack, x, are_used=are_used) for are_used in (True, False))
    assert mine[0].dtype == torch.bfloat16
    assert all(gradient.dtype == torch.float32 for gradient in mine[1:])
    for a, b, true in zip(mine, theirs, exact, strict=True):
        # The interpreter cuts off where a GPU rounds.
        allowed = (1.2 if DEVICE == "cuda" else 3.0) * (b - true).float().norm()
        assert (a - true).float().norm() <= allowed


def test_one_row_by_hand() -> None:
    # x + bias = (3, 4), mean square 12.5, times weights (1, -2): h = (0.8485247, -2.2627326)
    # and silu(h) = (0.5941859, -0.2132780). Of the sum of both numbers:
    # s = sigmoid(h) = (0.7002576, 0.0942568), dh = s (1 + h (1 - s)) = (0.8783603, -0.0989183),
    # n = (0.8485247, 1.1313663), dweight = dh n = (0.7453104, -0.1119128),
    # g = dh weight = (0.8783603, 0.1978365), mean(g n) = 0.4845680, scale = 0.2828416,
    # dx = scale (g - n mean(g n)) = (0.1321414, -0.0991041).
    x = torch.tensor([[1.0, 6.0]], device=DEVICE).requires_grad_()
    bias = torch.tensor([2.0, -2.0], device=DEVICE).requires_grad_()
    weight = torch.tensor([1.0, -2.0], device=DEVICE).requires_grad_()
    y = dense_layer(x, torch.eye(2, device=DEVICE), bias, weight, eps=NORM_EPSILON)
    gradients = torch.autograd.grad(y.sum(), [x, bias, weight])
    near = {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(y.detach().cpu(), torch.tensor([[0.5941859, -0.2132780]]), **near)
    of_x = torch.tensor([0.1321414, -0.0991041])
    torch.testing.assert_close(gradients[0].cpu()[0], of_x, **near)
    torch.testing.assert_close(gradients[1].cpu(), of_x, **near)
    torch.testing.assert_close(gradients[2].cpu(), torch.tensor([0.7453104, -0.1119128]), **near)


def test_a_layer_is_two_operations_forward() -> None:
    stack = build_stack(4, 8, n_layers=3)
    x = torch.ones(2, 4, device=DEVICE)
    with torch.no_grad(), fused_steps(are_used=True), noted_launches() as names:
        stack(x)
    assert names == ["mm"] * 3 + ["dense_forward_kernel"] * 3


@pytest.mark.parametrize(("norm", "activation"), [("layer", "silu"), ("rms", "elu")])
def test_other_layers_stay_as_they_are(norm: str, activation: str) -> None:
    torch.manual_seed(0)
    layer = DenseLayer(3, 4, norm=norm, activation=activation).to(DEVICE)
    x = torch.ones(2, 3, device=DEVICE)
    with fused_steps(are_used=True):
        mine = layer(x)
    assert torch.equal(mine, layer.activation(layer.norm(layer.linear(x))))
