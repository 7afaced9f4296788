from __future__ import annotations

import math

import pytest
import torch

from utils.world_models.layers import (
    BlockLinear,
    ChannelRMSNorm,
    DenseLayer,
    RMSNorm,
    build_dense_stack,
    build_linear,
    build_norm,
    init_truncated_,
)

# A standard normal distribution cut off at two deviations has one of 0.8796257.
CUT = 0.8796257


@pytest.mark.parametrize("fan_in", [64, 1024])
def test_first_weights_have_the_deviation_of_their_inputs_root(fan_in: int) -> None:
    torch.manual_seed(0)
    weight = build_linear(fan_in, 1024).weight
    std = 1.0 / math.sqrt(fan_in)
    assert float(weight.detach().std()) == pytest.approx(std, rel=0.02)
    assert 0.98 < float(weight.detach().abs().max()) / (2 * std / CUT) <= 1.0, (
        "two deviations, cut off"
    )


def test_scaled_first_weights() -> None:
    torch.manual_seed(0)
    weight = build_linear(256, 512, scale=0.01).weight
    assert float(weight.detach().std()) == pytest.approx(0.01 / 16, rel=0.02)
    assert (build_linear(256, 4, scale=0.0).weight == 0).all()
    assert (build_linear(256, 4).bias == 0).all()


def test_blocks_begin_with_the_deviation_of_the_whole_width() -> None:
    torch.manual_seed(0)
    layer = BlockLinear(1024, 2048, n_blocks=8)
    std = 1.0 / math.sqrt(1024)
    assert float(layer.weight.detach().std()) == pytest.approx(std, rel=0.02), (
        "not that of a block's width"
    )
    assert float(layer.weight.detach().abs().max()) <= 2 * std / CUT


def test_a_small_tensor_is_cut_relative_to_its_own_deviation() -> None:
    torch.manual_seed(0)
    weight = torch.empty(100_000)
    init_truncated_(weight, fan_in=1)
    # std 1 means a normal of 1.1368 that is cut at 2.2737: bounds of +-2 would give less
    assert float(weight.detach().abs().max()) == pytest.approx(2 / CUT, rel=1e-3)
    assert float(weight.detach().std()) == pytest.approx(1.0, rel=0.01)


def test_blocks_by_hand() -> None:
    # (1, 2) [[1, 0], [2, 1]] + (0.5, 0) = (5.5, 2); (3, 4) [[0, 1], [1, -1]] + (0, -1) = (4, -2)
    layer = BlockLinear(4, 4, n_blocks=2)
    layer.weight.data = torch.tensor([[[1.0, 0.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, -1.0]]])
    layer.bias.data = torch.tensor([0.5, 0.0, 0.0, -1.0])
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    torch.testing.assert_close(layer(x), torch.tensor([[5.5, 2.0, 4.0, -2.0]]))


def test_blocks_are_a_dense_layer_with_zeros_beside_them() -> None:
    torch.manual_seed(0)
    layer = BlockLinear(12, 8, n_blocks=4)
    dense = torch.block_diag(*layer.weight)
    x = torch.randn(2, 3, 12)
    torch.testing.assert_close(layer(x), x @ dense + layer.bias)
    assert layer(x).shape == (2, 3, 8)


def test_norm_by_hand() -> None:
    # mean(9, 16) = 12.5, root 3.5355481 with 1e-4: (0.8485247, 1.1313663) * (1, 2)
    norm = RMSNorm(2)
    norm.weight.data = torch.tensor([1.0, 2.0])
    expected = torch.tensor([0.8485247, 2.2627326])
    torch.testing.assert_close(norm(torch.tensor([3.0, 4.0])), expected)
    # (0.01, 0.01): 1e-4 + 1e-4 under the root: 0.01 / 0.0141421
    norm.weight.data = torch.ones(2)
    torch.testing.assert_close(norm(torch.full((2,), 0.01)), torch.full((2,), 0.7071068))


def test_norm_works_in_float32() -> None:
    x = torch.full((4,), 300.0, dtype=torch.float16)  # whose squares are beyond float16
    assert RMSNorm(4)(x).dtype == torch.float16
    torch.testing.assert_close(RMSNorm(4)(x), torch.ones(4, dtype=torch.float16))


def test_channel_norm_is_the_norm_at_each_place() -> None:
    torch.manual_seed(0)
    norm = ChannelRMSNorm(3)
    norm.norm.weight.data = torch.tensor([1.0, 2.0, -1.0])
    x = torch.randn(2, 3, 4, 5)
    out = norm(x)
    assert out.shape == x.shape
    torch.testing.assert_close(out[1, :, 2, 3], norm.norm(x[1, :, 2, 3]))


def test_other_norms() -> None:
    # (1, 3): mean 2, deviation 1: +-1 / sqrt(1 + 1e-3)
    layer = build_norm("layer", 2)(torch.tensor([1.0, 3.0]))
    torch.testing.assert_close(layer, torch.tensor([-0.9995004, 0.9995004]))
    x = torch.randn(3)
    assert build_norm("none", 3)(x) is x
    with pytest.raises(AssertionError):
        build_norm("batch", 3)


def test_a_layer_is_linear_norm_activation() -> None:
    # (3, 4) / 3.5355481 = (0.8485247, 1.1313663); x sigmoid(x): 0.5941859, 0.8554159
    layer = DenseLayer(2, 2, norm="rms", activation="silu")
    layer.linear.weight.data = torch.eye(2)
    torch.testing.assert_close(
        layer(torch.tensor([3.0, 4.0])), torch.tensor([0.5941859, 0.8554159])
    )


def test_a_stack_of_none_is_nothing() -> None:
    x = torch.randn(2, 5)
    assert build_dense_stack(5, 7, n_layers=0, norm="rms", activation="silu")(x) is x
    assert build_dense_stack(5, 7, n_layers=2, norm="rms", activation="silu")(x).shape == (2, 7)
