from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from utils.models import Memory


def build(kind: str, *, n_cells: int = 2, units: int = 4, orthogonal: bool = False) -> Memory:
    torch.manual_seed(0)
    return Memory(kind, 3, units, n_cells=n_cells, orthogonal_init=orthogonal)


def no_start(length: int, n: int) -> Tensor:
    return torch.zeros(length, n, dtype=torch.bool)


def torch_twin(memory: Memory, k: int) -> nn.Module:
    """Cell `k` as torch's own layer, with the same weights."""
    n, is_gru = memory.units, memory.kind == "gru"
    layer = (nn.GRU if is_gru else nn.LSTM)(3, n)
    # torch's LSTM has the candidate before the output gate, ours after it.
    order = [0, 1, 2] if is_gru else [0, 1, 3, 2]

    def rows(stacked: Tensor) -> Tensor:
        blocks = stacked.chunk(len(order), dim=-1)
        return torch.cat([blocks[i] for i in order], dim=-1)

    with torch.no_grad():
        layer.weight_ih_l0.copy_(rows(memory.input_weight[k]).T)
        layer.weight_hh_l0.copy_(rows(memory.state_weight[k]).T)
        layer.bias_ih_l0.copy_(rows(memory.input_bias[k, 0]))
        layer.bias_hh_l0.zero_()
        if memory.state_bias is not None:
            layer.bias_hh_l0[2 * n :].copy_(memory.state_bias[k, 0])
    return layer


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_each_cell_is_torchs_layer_with_its_weights(kind: str) -> None:
    memory = build(kind)
    x = torch.randn(2, 6, 5, 3)
    outputs = memory.unroll(x, memory.initial_state(5), no_start(6, 5))
    for k in range(2):
        torch.testing.assert_close(outputs[k], torch_twin(memory, k)(x[k])[0])


def test_one_unit_of_a_gru_by_hand() -> None:
    memory = Memory("gru", 1, 1, n_cells=1, orthogonal_init=True)
    with torch.no_grad():
        memory.input_weight.copy_(torch.tensor([[[0.0, 0.0, 1.0]]]))
        memory.state_weight.copy_(torch.tensor([[[0.0, 0.0, 2.0]]]))
        memory.state_bias.fill_(1.0)
    # both gates are 1/2: n = tanh(0.5 + 0.5 * (2 * 0.4 + 1)) = tanh(1.4), h' = (n + 0.4) / 2
    output, state = memory.step(torch.tensor([[[0.5]]]), torch.tensor([[0.4]]))
    assert output.item() == pytest.approx((math.tanh(1.4) + 0.4) / 2, rel=1e-6)
    assert state.item() == output.item()


def test_one_unit_of_an_lstm_by_hand() -> None:
    memory = Memory("lstm", 1, 1, n_cells=1, orthogonal_init=True)
    with torch.no_grad():
        memory.input_weight.copy_(torch.tensor([[[0.0, 0.0, 0.0, 1.0]]]))
        memory.state_weight.copy_(torch.tensor([[[0.0, 0.0, 0.0, 2.0]]]))
    # all gates are 1/2: c' = 0.6 / 2 + tanh(0.5 + 2 * 0.4) / 2, h' = tanh(c') / 2
    output, state = memory.step(torch.tensor([[[0.5]]]), torch.tensor([[0.4, 0.6]]))
    cell = 0.3 + math.tanh(1.3) / 2
    assert output.item() == pytest.approx(math.tanh(cell) / 2, rel=1e-6)
    assert state.tolist()[0] == pytest.approx([math.tanh(cell) / 2, cell], rel=1e-6)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("n_cells", [1, 2])
def test_a_sequence_is_its_steps(kind: str, n_cells: int) -> None:
    memory = build(kind, n_cells=n_cells)
    x, start = torch.randn(n_cells, 7, 4, 3), torch.randn(4, memory.state_dim)
    outputs = memory.unroll(x, start, no_start(7, 4))
    state = start
    for t in range(7):
        expected, state = memory.step(x[:, t], state)
        torch.testing.assert_close(outputs[:, t], expected)
    assert state.shape == start.shape


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_nothing_is_remembered_over_the_start_of_an_episode(kind: str) -> None:
    memory = build(kind)
    x, start = torch.randn(2, 6, 2, 3, requires_grad=True), torch.randn(2, memory.state_dim)
    is_start = no_start(6, 2)
    is_start[4, 1] = True
    outputs = memory.unroll(x, start, is_start)
    fresh = memory.unroll(x[:, 4:, 1:], memory.initial_state(1), no_start(2, 1))
    torch.testing.assert_close(outputs[:, 4:, 1:], fresh)
    whole = memory.unroll(x[:, :, :1], start[:1], no_start(6, 1))
    torch.testing.assert_close(outputs[:, :, :1], whole)
    # no gradient flows back over it either
    outputs[:, 5, 1].sum().backward()
    assert x.grad[:, :4].abs().max() == 0
    assert x.grad[:, 4:, 1].abs().min() > 0


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    memory = build(kind, units=3).double()
    is_start = no_start(5, 2)
    is_start[3, 0] = True
    x = torch.randn(2, 5, 2, 3, dtype=torch.float64, requires_grad=True)
    state = torch.randn(2, memory.state_dim, dtype=torch.float64, requires_grad=True)
    parameters = tuple(memory.parameters())

    def run(x: Tensor, state: Tensor, *_: Tensor) -> Tensor:
        return memory.unroll(x, state, is_start)

    assert torch.autograd.gradcheck(run, (x, state, *parameters))


def test_cells_share_nothing() -> None:
    memory = build("gru")
    outputs = memory.unroll(torch.randn(2, 4, 3, 3), memory.initial_state(3), no_start(4, 3))
    outputs[0].sum().backward()
    for parameter in memory.parameters():
        assert parameter.grad[0].abs().sum() > 0
        assert parameter.grad[1].abs().sum() == 0


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_orthogonal_gates(kind: str) -> None:
    memory = build(kind, orthogonal=True)
    for k in range(2):
        for block in memory.state_weight[k].split(4, dim=-1):
            torch.testing.assert_close(block @ block.T, torch.eye(4), atol=1e-5, rtol=0)
    assert memory.input_bias.abs().max() == 0
