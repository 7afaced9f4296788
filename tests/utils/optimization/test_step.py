from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from utils.optimization import GradientGroups, build_optimizer, clip_and_step, set_gradients


def build_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def build_loss(model: nn.Module, scale: float) -> torch.Tensor:
    x = torch.randn(16, 3, generator=torch.Generator().manual_seed(1))
    return scale * (model(x) - 5).square().mean()


@pytest.mark.parametrize("max_grad_norm", [None, 0.5, 1000.0])
def test_agrees_with_torchs_own_clipping(max_grad_norm: float | None) -> None:
    ours, reference = build_model(), build_model()
    optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
    build_loss(ours, 3.0).backward()
    norms = clip_and_step(optimizer, list(ours.parameters()), max_grad_norm=max_grad_norm)

    other = torch.optim.SGD(reference.parameters(), lr=0.1)
    build_loss(reference, 3.0).backward()
    expected_norms = torch.stack([p.grad.norm() for p in reference.parameters()])
    assert expected_norms.norm() > 1.0
    if max_grad_norm is not None:
        nn.utils.clip_grad_norm_(reference.parameters(), max_grad_norm)
    other.step()
    torch.testing.assert_close(norms, expected_norms)
    for mine, theirs in zip(ours.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_clipping_by_hand() -> None:
    a = nn.Parameter(torch.tensor([0.0]))
    b = nn.Parameter(torch.tensor([0.0]))
    optimizer = torch.optim.SGD([a, b], lr=1.0)
    (3 * a - 4 * b).sum().backward()
    norms = clip_and_step(optimizer, [a, b], max_grad_norm=0.5)
    # gradient (3, -4) of norm 5, scaled down by ten; the norms are those before it
    torch.testing.assert_close(norms, torch.tensor([3.0, 4.0]))
    assert (a.item(), b.item()) == (pytest.approx(-0.3), pytest.approx(0.4))


def test_a_bound_that_is_a_tensor_is_the_same_bound() -> None:
    for limit in (0.5, torch.tensor(0.5)):
        p = nn.Parameter(torch.zeros(2))
        p.grad = torch.tensor([3.0, 4.0])
        clip_and_step(torch.optim.SGD([p], lr=1.0), [p], max_grad_norm=limit)
        # The norm is 5, so the step is a tenth of the gradient.
        torch.testing.assert_close(p.detach(), torch.tensor([-0.3, -0.4]))


def test_a_parameter_without_gradient_has_norm_zero() -> None:
    p, idle = nn.Parameter(torch.tensor([1.0])), nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([p, idle], lr=1.0)
    (2 * p).sum().backward()
    norms = clip_and_step(optimizer, [p, idle], max_grad_norm=None)
    assert norms.tolist() == [2.0, 0.0]
    assert idle.item() == 1.0


def test_a_gradient_of_zero_stays_finite() -> None:
    p = nn.Parameter(torch.tensor([1.0]))
    optimizer = torch.optim.SGD([p], lr=1.0)
    (0 * p).sum().backward()
    norms = clip_and_step(optimizer, [p], max_grad_norm=0.5)
    assert norms.tolist() == [0.0]
    assert p.item() == 1.0


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(2, 2, bias=False)
        self.actor_head = nn.Linear(2, 2)
        self.actor_trunk = nn.Linear(2, 2, bias=False)
        self.critic_head = nn.Linear(2, 1, bias=False)
        self.frozen = nn.Parameter(torch.zeros(1), requires_grad=False)


def test_groups_are_heads_and_the_rest() -> None:
    groups = GradientGroups(Heads())
    # encoder, actor weight, actor bias, actor trunk, critic; two steps
    assert len(groups.parameters) == 5
    norms = groups.norms(torch.tensor([[3.0, 6.0, 8.0, 4.0, 7.0], [0.0, 0.0, 2.0, 1.0, 9.0]]))
    # actor (sqrt(36 + 64) + 2) / 2 = 6;  critic (7 + 9) / 2;  trunk (sqrt(9 + 16) + 1) / 2 = 3
    assert norms == {"actor_head": 6.0, "critic_head": 8.0, "trunk": 3.0}


def test_a_group_without_parameters_is_absent() -> None:
    model = copy.deepcopy(Heads())
    del model.critic_head
    groups = GradientGroups(model)
    assert set(groups.norms(torch.ones(1, len(groups.parameters)))) == {"actor_head", "trunk"}


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_a_fused_step_is_torchs_plain_one_where_gradients_come_transposed(name: str) -> None:
    steps = []
    for fused in (True, False):
        weight = nn.Parameter(torch.linspace(-1.0, 1.0, 6).view(2, 3))
        optimizer = build_optimizer(name, [weight], lr=0.1, kwargs={"fused": fused})
        for factor in (1.0, -0.5):
            numbers = torch.arange(6.0).view(3, 2) * factor
            set_gradients((weight.t().contiguous() * numbers).sum(), [weight])
            assert torch.equal(weight.grad, numbers.t())
            assert weight.grad.stride() == weight.stride()
            clip_and_step(optimizer, [weight], max_grad_norm=None)
        steps.append(weight.detach())
    torch.testing.assert_close(steps[0], steps[1])
