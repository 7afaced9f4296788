from __future__ import annotations

import pytest
import torch
from torch import nn

from utils.models import build_mlp, linear_head
from utils.models.mlp import ACTIVATIONS


def test_layers_in_their_order() -> None:
    mlp = build_mlp(4, [8, 3], activation="relu", orthogonal_init=False)
    kinds = [type(layer) for layer in mlp]
    assert kinds == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU]
    assert [tuple(layer.weight.shape) for layer in mlp[::2]] == [(8, 4), (3, 8)]
    assert mlp(torch.zeros(5, 4)).shape == (5, 3)


def test_no_hidden_layer_is_the_identity() -> None:
    x = torch.randn(2, 4)
    assert torch.equal(build_mlp(4, [], activation="tanh", orthogonal_init=True)(x), x)


@pytest.mark.parametrize(
    ("name", "at_minus_one"),
    [("tanh", -0.761594), ("relu", 0.0), ("elu", -0.632121), ("silu", -0.268941)],
)
def test_activations_are_what_they_are_called(name: str, at_minus_one: float) -> None:
    assert ACTIVATIONS[name]()(torch.tensor(-1.0)).item() == pytest.approx(at_minus_one, rel=1e-5)


def test_gelu_by_its_definition() -> None:
    # x * Phi(x) at -1: -0.158655
    assert ACTIVATIONS["gelu"]()(torch.tensor(-1.0)).item() == pytest.approx(-0.158655, rel=1e-5)


def test_orthogonal_weights_have_gain_sqrt_two_and_no_bias() -> None:
    layer = build_mlp(6, [4], activation="tanh", orthogonal_init=True)[0]
    torch.testing.assert_close(layer.weight @ layer.weight.T, 2.0 * torch.eye(4))
    assert (layer.bias == 0).all()


def test_torchs_own_weights_where_orthogonal_ones_are_not_asked_for() -> None:
    layer = build_mlp(6, [4], activation="tanh", orthogonal_init=False)[0]
    assert not torch.allclose(layer.weight @ layer.weight.T, 2.0 * torch.eye(4), atol=0.1)
    assert layer.bias.abs().sum() > 0


def test_head_with_gain() -> None:
    head = linear_head(8, 3, gain=0.01)
    torch.testing.assert_close(head.weight @ head.weight.T, 1e-4 * torch.eye(3))
    assert (head.bias == 0).all()
    assert linear_head(8, 3, gain=None).bias.abs().sum() > 0
