from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from utils.world_models.dynamics import BlockGRU, PlainGRU, bound_actions, gated_update


def block_gru(**changes: object) -> BlockGRU:
    torch.manual_seed(0)
    values = {"deter": 8, "stoch": 6, "n_actions": 2, "hidden": 5, "n_blocks": 4, "n_layers": 1}
    gru = BlockGRU(**(values | {"norm": "rms", "activation": "silu"} | changes)).double()
    for parameter in gru.parameters():
        if parameter.ndim == 1:
            parameter.data += 0.3 * torch.randn_like(parameter)
    return gru


def inputs(n: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return tuple(
        torch.randn((n, width), generator=generator, dtype=torch.float64) for width in (8, 6, 2)
    )


def test_gates_by_hand() -> None:
    # u = sigmoid(1 - 1) = 0.5; tanh(sigmoid(0) * 2) = 0.7615942: 0.5 * 0.7615942 + 0.5 * 0.2
    # u = sigmoid(0 - 1) = 0.2689414; tanh(0.5 * 0) = 0: 0.7310586 * 1
    # reset -100: tanh(0): u = sigmoid(100): nothing stays
    deter, candidate = torch.tensor([0.2, 1.0, 5.0]), torch.tensor([2.0, 0.0, 3.0])
    reset, update = torch.tensor([0.0, 0.0, -100.0]), torch.tensor([1.0, 0.0, 101.0])
    expected = torch.tensor([0.4807971, 0.7310586, 0.0])
    torch.testing.assert_close(gated_update(deter, reset, candidate, update), expected)


def test_actions_beyond_one_are_pulled_in_without_bending_the_gradient() -> None:
    action = torch.tensor([4.0, -0.5, -8.0], requires_grad=True)
    bounded = bound_actions(action)
    torch.testing.assert_close(bounded.detach(), torch.tensor([1.0, -0.5, -1.0]))
    bounded.sum().backward()
    torch.testing.assert_close(action.grad, torch.tensor([0.25, 1.0, 0.125]))


def _norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-4) * weight


@pytest.mark.parametrize("n_layers", [1, 2])
def test_block_gru_block_by_block(n_layers: int) -> None:
    gru = block_gru(n_layers=n_layers)
    deter, stoch, action = inputs()
    bounded = action / action.abs().clamp_min(1.0)
    read = [
        F.silu(_norm(x @ layer.linear.weight.T + layer.linear.bias, layer.norm.weight))
        for x, layer in ((deter, gru.deter_in), (stoch, gru.stoch_in), (bounded, gru.action_in))
    ]
    x = [torch.cat([deter[:, 2 * g : 2 * g + 2], *read], dim=1) for g in range(4)]
    for layer, norm in zip(gru.layers, gru.norms, strict=True):
        y = torch.cat([x[g] @ layer.weight[g] for g in range(4)], dim=1) + layer.bias
        y = F.silu(_norm(y, norm.weight))
        x = [y[:, 2 * g : 2 * g + 2] for g in range(4)]
    expected = []
    for g in range(4):
        reset, candidate, update = (x[g] @ gru.gates.weight[g] + gru.gates.bias[6 * g :][:6]).split(
            2, dim=1
        )
        u = torch.sigmoid(update - 1)
        old = deter[:, 2 * g : 2 * g + 2]
        expected.append(u * torch.tanh(torch.sigmoid(reset) * candidate) + (1 - u) * old)
    out = gru(deter, stoch, gru.read_actions(action))
    torch.testing.assert_close(out, torch.cat(expected, dim=1), rtol=1e-9, atol=1e-9)


def test_plain_gru_by_its_equations() -> None:
    torch.manual_seed(0)
    gru = PlainGRU(deter=8, stoch=6, n_actions=2, hidden=5, norm="none", activation="elu").double()
    gru.read.bias.data.normal_()
    gru.gates.bias.data.normal_()
    deter, stoch, action = inputs()
    bounded = action / action.abs().clamp_min(1.0)
    x = F.elu(torch.cat([stoch, bounded], dim=1) @ gru.read.weight.T + gru.read.bias)
    gates = torch.cat([x, deter], dim=1) @ gru.gates.weight.T + gru.gates.bias
    reset, candidate, update = gates.split(8, dim=1)
    u = torch.sigmoid(update - 1)
    expected = u * torch.tanh(torch.sigmoid(reset) * candidate) + (1 - u) * deter
    torch.testing.assert_close(gru(deter, stoch, gru.read_actions(action)), expected)


@pytest.mark.parametrize("norm", ["rms", "layer", "none"])
def test_actions_of_many_steps_are_read_at_once(norm: str) -> None:
    torch.manual_seed(0)
    kinds = {"norm": norm, "activation": "silu"}
    for gru in (
        block_gru(norm=norm),
        PlainGRU(deter=8, stoch=6, n_actions=2, hidden=5, **kinds).double(),
    ):
        action = torch.randn(4, 3, 2, dtype=torch.float64)
        at_once = gru.read_actions(action)
        torch.testing.assert_close(at_once[2], gru.read_actions(action[2]))


def test_a_state_stays_bounded() -> None:
    gru = block_gru()
    deter, stoch, action = inputs()
    deter = deter.clamp(-1, 1)
    for _ in range(200):
        deter = gru(deter, 10 * stoch, gru.read_actions(action))
    assert deter.abs().max() <= 1.0
