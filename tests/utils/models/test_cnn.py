from __future__ import annotations

import pytest
import torch
from torch import nn

from utils.models import NatureCNN


@pytest.mark.parametrize(
    ("shape", "width"),
    [
        # (84 - 8) / 4 + 1 = 20, (20 - 4) / 2 + 1 = 9, 9 - 3 + 1 = 7: 64 * 7 * 7
        ((4, 84, 84), 3136),
        # 8, 3, 1: 64 * 1 * 1
        ((1, 36, 36), 64),
        # height 40: 9, 3, 1; width 60: 14, 6, 4
        ((3, 40, 60), 256),
    ],
)
def test_any_picture_size_of_at_least_36(shape: tuple[int, int, int], width: int) -> None:
    cnn = NatureCNN(shape, feature_dim=16, orthogonal_init=False)
    assert cnn.output[0].in_features == width
    assert cnn(torch.zeros(2, *shape)).shape == (2, 16)


def test_the_layers_of_the_paper() -> None:
    cnn = NatureCNN((4, 84, 84), feature_dim=512, orthogonal_init=True)
    layers = [layer for layer in cnn.convolutions if isinstance(layer, nn.Conv2d)]
    found = [(layer.out_channels, layer.kernel_size[0], layer.stride[0]) for layer in layers]
    assert found == [(32, 8, 4), (64, 4, 2), (64, 3, 1)]
    assert [type(layer) for layer in cnn.convolutions[1::2]] == [nn.ReLU] * 3
    assert isinstance(cnn.output[1], nn.ReLU)
    flat = layers[0].weight.flatten(1)
    torch.testing.assert_close(flat @ flat.T, 2.0 * torch.eye(32), rtol=1e-4, atol=1e-4)
    assert (layers[0].bias == 0).all()


def test_gradient_reaches_the_first_layer() -> None:
    torch.manual_seed(0)
    cnn = NatureCNN((1, 36, 36), feature_dim=4, orthogonal_init=True)
    cnn(torch.rand(2, 1, 36, 36)).sum().backward()
    assert cnn.convolutions[0].weight.grad.abs().sum() > 0
