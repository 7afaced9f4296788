from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from utils.optimization.laprop import LaProp, clip_adaptively_, mark_stacked


def parameter(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values))


def test_clipping_by_hand() -> None:
    # |p| = 5: at most 0.3 * 5 = 1.5, so a gradient of norm 10 becomes 0.15 of itself; one of norm 1
    # stays. A parameter of zeros counts as 1e-3: 3e-4 at most.
    parameters = [torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.0]), torch.zeros(2)]
    gradients = [torch.tensor(g) for g in ([6.0, 8.0], [0.6, 0.8], [0.0, -2.0])]
    clip_adaptively_(gradients, parameters, ratio=0.3)
    torch.testing.assert_close(gradients[0], torch.tensor([0.9, 1.2]))
    torch.testing.assert_close(gradients[1], torch.tensor([0.6, 0.8]))
    torch.testing.assert_close(gradients[2], torch.tensor([0.0, -3e-4]))
    torch.testing.assert_close(parameters[0], torch.tensor([3.0, 4.0]))


def test_a_gradient_of_zeros_stays() -> None:
    gradients = [torch.zeros(3)]
    clip_adaptively_(gradients, [torch.zeros(3)], ratio=0.3)
    assert (gradients[0] == 0).all()


def test_layers_in_one_parameter_are_clipped_each_by_itself() -> None:
    torch.manual_seed(0)
    rows = torch.randn(4, 3)
    gradients = [torch.randn(4, 3) * torch.tensor([[9.0], [9.0], [0.1], [0.1]]) for _ in range(3)]
    apart = [nn.Parameter(rows[:2].clone()), nn.Parameter(rows[2:].clone())]
    stacked, joined = nn.Parameter(rows.clone()), nn.Parameter(rows.clone())
    mark_stacked(stacked, 2)
    optimizers = [LaProp(ps, lr=0.1, agc=0.3) for ps in (apart, [stacked], [joined])]
    for g in gradients:
        apart[0].grad, apart[1].grad = g[:2].clone(), g[2:].clone()
        stacked.grad, joined.grad = g.clone(), g.clone()
        for optimizer in optimizers:
            optimizer.step()
    assert torch.equal(stacked, torch.cat(apart))  # type: ignore[arg-type]
    assert (stacked - joined).abs()[2:].max() > 1e-3  # small gradients beside large ones


def test_two_steps_by_hand() -> None:
    p = parameter(1.0)
    optimizer = LaProp([p], lr=0.1, agc=None)
    # n = 0.001 * 4; sqrt(n / 0.001) = 2; u = 1; m = 0.1; p = 1 - 0.1 * 0.1 / 0.1
    p.grad = torch.tensor([2.0])
    optimizer.step()
    torch.testing.assert_close(p.data, torch.tensor([0.9]))
    # n = 0.999 * 0.004 + 0.001 = 0.004996; n / (1 - 0.999^2) = 2.4992496, root 1.5809015;
    # u = -0.6325505; m = 0.9 * 0.1 - 0.0632551 = 0.0267449; m / 0.19 = 0.1407629; (Adam: 0.0530)
    p.grad = torch.tensor([-1.0])
    optimizer.step()
    torch.testing.assert_close(p.data, torch.tensor([0.8859237]))


@pytest.mark.parametrize("agc", [None, 0.3])
def test_it_follows_its_equations(agc: float | None) -> None:
    torch.manual_seed(0)
    shapes = [(3, 4), (4,), (2, 2, 2)]
    parameters = [nn.Parameter(torch.randn(shape, dtype=torch.float64)) for shape in shapes]
    mine = [p.detach().clone() for p in parameters]
    square, momentum = ([torch.zeros_like(p) for p in mine] for _ in range(2))
    optimizer = LaProp(parameters, lr=3e-3, betas=(0.8, 0.95), eps=1e-8, agc=agc, agc_floor=1e-2)
    for step in range(1, 21):
        for k, p in enumerate(parameters):
            p.grad = torch.randn_like(p) * 10.0 ** ((k + step) % 3 - 1)
            g = p.grad.clone()
            if agc is not None:
                limit = agc * max(float(mine[k].norm()), 1e-2)
                g = g * min(1.0, limit / float(g.norm()))
            square[k] = 0.95 * square[k] + 0.05 * g * g
            u = g / ((square[k] / (1 - 0.95**step)).sqrt() + 1e-8)
            momentum[k] = 0.8 * momentum[k] + 0.2 * u
            mine[k] = mine[k] - 3e-3 * momentum[k] / (1 - 0.8**step)
        optimizer.step()
    for p, q in zip(parameters, mine, strict=True):
        torch.testing.assert_close(p.data, q, rtol=1e-6, atol=0)


def test_the_first_step_is_the_learning_rate_whatever_the_size_of_the_gradient() -> None:
    # g / (sqrt(g^2) + 1e-20) = 1: as precise as float32 is
    p = parameter(0.0, 0.0, 0.0)
    optimizer = LaProp([p], lr=1.0, agc=None)
    p.grad = torch.tensor([1e-8, -3.0, 1e8])
    optimizer.step()
    torch.testing.assert_close(p.data, torch.tensor([-1.0, 1.0, -1.0]), rtol=1e-6, atol=0)


def test_no_gradient_makes_no_step() -> None:
    p, q = parameter(1.0), parameter(1.0)
    optimizer = LaProp([p, q], lr=0.1)
    p.grad = torch.zeros(1)
    optimizer.step()
    assert p.item() == q.item() == 1.0


def test_saved_and_loaded_it_goes_on_bit_for_bit() -> None:
    torch.manual_seed(0)
    gradients = torch.randn(6, 4)
    p = parameter(1.0, 2.0, 3.0, 4.0)
    optimizer = LaProp([p], lr=0.01)
    for g in gradients[:3]:
        p.grad = g.clone()
        optimizer.step()
    q = nn.Parameter(p.detach().clone())
    other = LaProp([q], lr=0.5)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for g in gradients[3:]:
        p.grad, q.grad = g.clone(), g.clone()
        optimizer.step()
        other.step()
    assert torch.equal(p, q)


def test_the_learning_rate_may_be_a_tensor() -> None:
    p, q = parameter(1.0, -2.0), parameter(1.0, -2.0)
    for parameter_, lr in ((p, 0.01), (q, torch.tensor(0.01))):
        optimizer = LaProp([parameter_], lr=lr)
        for _ in range(3):
            parameter_.grad = torch.tensor([0.5, -0.1])
            optimizer.step()
    torch.testing.assert_close(p, q)


def test_parameters_of_a_group_must_begin_together() -> None:
    p, q = parameter(1.0), parameter(1.0)
    optimizer = LaProp([p, q], lr=0.01)
    p.grad = torch.ones(1)
    optimizer.step()
    p.grad, q.grad = torch.ones(1), torch.ones(1)
    with pytest.raises(AssertionError, match="begin together"):
        optimizer.step()
