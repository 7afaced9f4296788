"""Passes through a network against torch's own module and autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.helpers.rollouts import make_policy
from utils.compiled.network import backward, forward, transpose_weights
from utils.compiled.parameters import pack, unpack
from utils.compiled.policy import CompiledPolicy
from utils.compiled.tiles import padded


def load_input(layout: CompiledPolicy, x: np.ndarray) -> None:
    begin = layout.scratch.input_at
    layout.scratch.memory[begin : begin + x.size] = x.reshape(-1)


@pytest.mark.parametrize("n_rows", [1, 5, 64])
@pytest.mark.parametrize(
    ("hidden_dims", "activation"), [((64, 64), "tanh"), ((5, 70, 17), "relu"), ((100,), "tanh")]
)
def test_both_passes_are_torch_s(hidden_dims, activation, n_rows):
    policy = make_policy(n_inputs=3, n_actions=4, hidden_dims=hidden_dims, activation=activation)
    layout = CompiledPolicy.of(policy)
    pack(layout.segments, layout.addresses(), layout.packed)
    x = torch.randn(n_rows, 3)
    (logits,), value = policy(x)
    slope, value_slope = torch.randn(n_rows, 4), torch.randn(n_rows)
    ((logits * slope).sum() + (value * value_slope).sum()).backward()

    gradient = np.zeros_like(layout.packed)
    memory = layout.scratch.memory
    for network, output, incoming in (
        (layout.actor, logits, slope),
        (layout.critic, value.unsqueeze(1), value_slope.unsqueeze(1)),
    ):
        transpose_weights(network, layout.packed, layout.transposed)
        load_input(layout, x.numpy())
        length, width = padded(output.shape[1]), output.shape[1]
        at = forward(network, layout.packed, layout.scratch, n_rows)
        rows = memory[at : at + n_rows * length].reshape(n_rows, length)
        np.testing.assert_allclose(rows[:, :width], output.detach(), rtol=1e-5, atol=2e-6)
        begin = layout.scratch.delta_at
        delta = memory[begin : begin + n_rows * length].reshape(n_rows, length)
        delta[:] = 0.0
        delta[:, :width] = incoming
        backward(network, layout.transposed, gradient, layout.scratch, n_rows)
    expected = [parameter.grad.clone() for parameter in policy.parameters()]
    with torch.no_grad():
        unpack(layout.segments, layout.addresses(), gradient)
    for (name, parameter), wanted in zip(policy.named_parameters(), expected, strict=True):
        error = (parameter.detach() - wanted).norm() / (1.0 + wanted.norm())
        assert error < 2e-6, (name, error)


@pytest.mark.parametrize("is_box", [False, True])
def test_parameters_come_back_as_they_were(is_box):
    policy = make_policy(n_inputs=3, n_actions=5, hidden_dims=(7, 20), is_box=is_box)
    layout = CompiledPolicy.of(policy)
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    pack(layout.segments, layout.addresses(), layout.packed)
    assert np.count_nonzero(layout.packed) == sum(p.numel() for p in before)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
    unpack(layout.segments, layout.addresses(), layout.packed)
    for parameter, old in zip(policy.parameters(), before, strict=True):
        assert torch.equal(parameter, old)
