from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from utils.compiled.flat_ensemble import FlatEnsemble, FlatNumber
from utils.compiled.flat_mlp import FlatAdam


def make_layers() -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    generator = torch.Generator().manual_seed(0)
    widths = [3, 20, 1]
    weights = [
        nn.Parameter(torch.randn((2, a, b), generator=generator)) for a, b in pairwise(widths)
    ]
    biases = [nn.Parameter(torch.randn((2, 1, b), generator=generator)) for b in widths[1:]]
    return weights, biases


def test_parameters_keep_their_numbers_and_lie_where_the_plan_says() -> None:
    (weights, biases), (w, b) = make_layers(), make_layers()
    flat = FlatEnsemble(weights, biases, is_relu=True)
    for moved, before in zip([*weights, *biases], [*w, *b], strict=True):
        assert torch.equal(moved, before)
    # 3 x 20 and its bias take rows of 32 numbers, 20 x 1 and its bias rows of 16.
    assert flat.memory.shape == (2, 3 * 32 + 32 + 20 * 16 + 16)
    assert flat.memory[1, 2 * 32 + 5] == w[0][1, 2, 5].item()
    assert flat.memory[1, 3 * 32 + 5] == b[0][1, 0, 5].item()
    assert flat.memory[1, 4 * 32 + 7 * 16] == w[1][1, 7, 0].item()
    assert flat.memory[1, 4 * 32 + 20 * 16] == b[1][1, 0, 0].item()
    with torch.no_grad():
        weights[0].add_(1.0)
    assert flat.memory[1, 2 * 32 + 5] == w[0][1, 2, 5].item() + 1.0


def test_an_optimiser_that_goes_on_by_itself_works_on_the_same_memory() -> None:
    weights, biases = make_layers()
    flat = FlatEnsemble(weights, biases, is_relu=True)
    optimizer = torch.optim.Adam(flat.parameters, lr=0.1)
    adam = FlatAdam(flat)
    assert adam.bind(optimizer) == 0
    for parameter in flat.parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert np.isclose(adam.moment1[1, 2 * 32 + 5], 0.1)
    assert adam.bind(optimizer) == 1


def test_a_single_number_is_seen_from_both_sides() -> None:
    parameter = nn.Parameter(torch.tensor(0.5))
    flat = FlatNumber(parameter)
    flat.memory[0] = 2.0
    assert parameter.item() == 2.0
    with torch.no_grad():
        parameter.fill_(3.0)
    assert flat.memory.tolist() == [3.0]
