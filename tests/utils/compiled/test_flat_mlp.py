from __future__ import annotations

import copy
import itertools

import numpy as np
import torch
from torch import nn

from utils.compiled.flat_mlp import FlatAdam, FlatMLP
from utils.compiled.network import forward


def build(widths=(3, 20, 2)) -> nn.Sequential:
    torch.manual_seed(0)
    pairs = itertools.pairwise(widths)
    layers = [part for pair in pairs for part in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def linears(model: nn.Sequential) -> list[nn.Linear]:
    return [layer for layer in model if isinstance(layer, nn.Linear)]


def test_nothing_changes_for_torch() -> None:
    model, x = build(), torch.rand(7, 3)
    before, state = model(x), copy.deepcopy(model.state_dict())
    FlatMLP(linears(model), is_relu=True)
    torch.testing.assert_close(model(x), before)
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name])
    twin = copy.deepcopy(model)
    assert torch.equal(twin(x), model(x))


def test_memory_and_parameters_are_one() -> None:
    model = build()
    mlp = FlatMLP(linears(model), is_relu=True)
    for parameter, view in zip(mlp.parameters, mlp.views(mlp.memory), strict=True):
        assert parameter.data_ptr() == view.data_ptr()
        assert torch.equal(parameter, view)
    model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})
    x = torch.rand(5, 3)
    mlp.scratch.memory[mlp.scratch.input_at :][: 5 * 3] = x.numpy().reshape(-1)
    at = forward(mlp.network, mlp.memory, mlp.scratch, 5)
    rows = mlp.scratch.memory[at:][: 5 * 16].reshape(5, 16)[:, :2]
    np.testing.assert_allclose(rows, model(x).detach().numpy(), rtol=1e-5)


def test_the_optimisers_state_is_moved_and_found_again() -> None:
    model = build()
    mlp = FlatMLP(linears(model), is_relu=True)
    adam = FlatAdam(mlp)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    assert adam.bind(optimizer) == 0
    for parameter in mlp.parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    # Adam's first mean is a tenth of the gradient; torch wrote it where ours reads it.
    assert adam.bind(optimizer) == 1
    for view in mlp.views(adam.moment1):
        torch.testing.assert_close(view, torch.full_like(view, 0.1))
    adam.count(5)
    saved = copy.deepcopy(optimizer.state_dict())
    adam.moment1[:] = 0.0
    optimizer.load_state_dict(saved)  # has tensors of its own now
    assert adam.bind(optimizer) == 5
    for view in mlp.views(adam.moment1):
        torch.testing.assert_close(view, torch.full_like(view, 0.1))
