"""Single kernels of steps by hand, and what they leave alone."""

from __future__ import annotations

import torch

from tests.helpers.triton_device import DEVICE
from utils.world_models.fused_steps import availability, launches
from utils.world_models.fused_steps.backward_kernels import draw_back_kernel, gate_back_kernel

NEAR = {"rtol": 1e-5, "atol": 1e-6}


def test_gates_by_hand() -> None:
    # reset = 0.5 - 0.5 = 0: r = 1/2; candidate = 1: c = tanh(1/2) = 0.4621172;
    # update = 2 - 1 = 1: u = 0.7310586. Old state 2: new = u c + (1 - u) 2 = 0.8757176;
    # where an episode begins it counts as 0: new = u c = 0.3378347.
    gates = torch.tensor([[[0.5, 1.0, 2.0], [0.5, 1.0, 2.0]]], device=DEVICE)
    bias = torch.tensor([-0.5, 0.0, -1.0], device=DEVICE)
    kept = torch.tensor([1.0, 0.0], device=DEVICE)
    states = torch.full((2, 2, 3), 2.0, device=DEVICE)
    launches.open_gates(gates, bias, kept, states[0, :, :1], out=states[1, :, :1])
    expected = torch.tensor([[0.8757176, 2.0, 2.0], [0.3378347, 2.0, 2.0]])
    torch.testing.assert_close(states[1].cpu(), expected, **NEAR)


def test_the_way_back_through_gates_by_hand() -> None:
    # As above. Gradient of the new state: 1 from outside, 2 by a product, and 3 carried with 4 by
    # blocks, if the next step is no beginning: 10 and 3. With c = 0.4621172, u = 0.7310586:
    # dcandidate = g u (1 - c^2) r, u (1 - c^2) r = 0.2874710;
    # dreset = dcandidate a (1 - r) = g 0.1437355;
    # dupdate = g (c - h') u (1 - u), u (1 - u) = 0.1966119: 10 (-1.5378828) 0.1966119 = -3.0236607
    # where h' = 2, and 3 0.4621172 0.1966119 = 0.2725715 where it counts as 0.
    # Carried on: g (1 - u) = 2.6894142 and 0.8068243.
    def row(*numbers: float) -> torch.Tensor:
        return torch.tensor(numbers, device=DEVICE).view(2, 1)

    gates = torch.tensor([[[0.5, 1.0, 2.0], [0.5, 1.0, 2.0]]], device=DEVICE)
    bias = torch.tensor([-0.5, 0.0, -1.0], device=DEVICE)
    carried, out = row(3.0, 3.0), torch.empty(1, 2, 3, device=DEVICE)
    parts = torch.tensor([[[9.0, 4.0], [9.0, 4.0]]], device=DEVICE)
    gate_back_kernel[(2, 1)](
        row(1.0, 1.0), row(2.0, 2.0), carried, parts, row(1.0, 0.0), gates, bias, row(1.0, 0.0),
        row(2.0, 2.0), out, 2, 2, 1, 1, 6, D=1, SIZE=1, BLOCK=1,
    )  # fmt: skip
    expected = torch.tensor(
        [[[1.4373548, 2.8747097, -3.0236607], [0.4312065, 0.8624129, 0.2725715]]]
    )
    torch.testing.assert_close(out.cpu(), expected, **NEAR)
    torch.testing.assert_close(carried.cpu(), torch.tensor([[2.6894142], [0.8068243]]), **NEAR)


def test_draws_by_hand() -> None:
    # softmax(log 1, log 3) = (1/4, 3/4); with a share of 1/2: (3/8, 5/8).
    # Keys: 0.375 / 0.5 = 0.75 against 0.625 / 1 = 0.625: class 0; with even noise: class 1.
    product = torch.tensor([[0.0, 3.0], [0.0, 3.0]], device=DEVICE).log().clamp_min(-1.0)
    bias = torch.tensor([1.0, 0.0], device=DEVICE)
    noise = torch.tensor([[[0.5, 1.0]], [[1.0, 1.0]]], device=DEVICE)
    logits, stoch = torch.empty(2, 2, device=DEVICE), torch.full((2, 3), 7.0, device=DEVICE)
    index = torch.empty(2, 1, dtype=torch.int32, device=DEVICE)
    launches.draw(product, bias, noise, share=0.5, logits=logits, index=index, out=stoch[:, :2])
    assert stoch.tolist() == [[1.0, 0.0, 7.0], [0.0, 1.0, 7.0]]
    assert index.tolist() == [[0], [1]]
    expected = torch.tensor([[0.0, 1.0986123], [0.0, 1.0986123]])
    torch.testing.assert_close(logits.cpu(), expected, **NEAR)


def test_a_draw_of_no_numbers_stays_within_the_table() -> None:
    product = torch.full((1, 6), torch.nan, device=DEVICE)
    logits, stoch = torch.empty_like(product), torch.empty_like(product)
    index = torch.empty(1, 2, dtype=torch.int32, device=DEVICE)
    launches.draw(
        product, torch.zeros(6, device=DEVICE), torch.ones(1, 2, 3, device=DEVICE),
        share=0.01, logits=logits, index=index, out=stoch,
    )  # fmt: skip
    assert logits.isnan().all()
    assert ((index >= 0) & (index < 3)).all()


def test_the_way_back_through_a_draw_by_hand() -> None:
    # p = (1/4, 3/4); gradient of the draw (2 + 1, -1): p (g - sum(p g)) with sum = 0.75 - 0.75 = 0:
    # (0.75, -0.75), of which 0.9 is certain, plus (1, 2) from outside: (1.675, 1.325).
    def row(*numbers: float) -> torch.Tensor:
        return torch.tensor([numbers], device=DEVICE)

    out = torch.empty(1, 2, device=DEVICE)
    draw_back_kernel[(1,)](
        row(0.0, 1.0986123), row(1.0, 2.0), row(2.0, 0.0), row(1.0, -1.0), out, 1, 0.9,
        C=2, R=1, BLOCK=2,
    )  # fmt: skip
    torch.testing.assert_close(out.cpu(), torch.tensor([[1.675, 1.325]]), **NEAR)


def test_only_a_gpu_has_kernels_and_not_for_everything() -> None:
    assert not availability.runs_fused(torch.zeros(2), width=2)
    assert not availability.runs_fused(torch.zeros(2, device=DEVICE).double(), width=2)
    too_wide = availability.MOST_NUMBERS + 1
    assert not availability.runs_fused(torch.zeros(2, device=DEVICE), width=too_wide)
