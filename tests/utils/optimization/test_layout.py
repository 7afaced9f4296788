"""How what an optimiser knows lies in memory."""

from __future__ import annotations

import copy

import torch

from utils.optimization.layout import lay_like, lay_like_parameters, lies_like


def test_states_of_a_contiguous_parameter_fit_one_with_its_channels_last() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn((5, 3, 2, 2), generator=generator)
    here = torch.nn.Parameter(values.clone())
    there = torch.nn.Parameter(values.clone(memory_format=torch.channels_last))
    ours, theirs = (torch.optim.Adam([p], lr=0.1) for p in (here, there))
    for step in range(4):
        if step == 2:
            theirs.load_state_dict(copy.deepcopy(ours.state_dict()))
            assert theirs.state[there]["exp_avg"].stride() != there.stride()
            lay_like_parameters(theirs)
            assert theirs.state[there]["exp_avg"].stride() == there.stride()
            assert torch.equal(theirs.state[there]["exp_avg"], ours.state[here]["exp_avg"])
        for parameter, optimizer in ((here, ours), (there, theirs)):
            optimizer.zero_grad()
            (parameter**3).sum().backward()
            optimizer.step()
    torch.testing.assert_close(there, here)
    assert theirs.state[there]["step"].shape == ()


def test_only_what_lies_otherwise_is_copied() -> None:
    other = torch.zeros(2, 3)
    assert lay_like(x := torch.ones(2, 3), other) is x
    turned = lay_like(y := torch.arange(6.0).view(3, 2).t(), other)
    assert turned.stride() == (3, 1)
    assert torch.equal(turned, y)
    # Where there is only one, it does not matter how far the next would be.
    assert lies_like(torch.ones(5, 1)[:, :1], torch.ones(1, 5).t())
