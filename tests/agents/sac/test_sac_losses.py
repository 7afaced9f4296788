from __future__ import annotations

import math

import torch

from agents.sac.sac_losses import (
    actor_loss,
    actor_loss_of_choices,
    critic_loss,
    q_target,
    soft_value,
    soft_value_of_choices,
    temperature_loss,
)


def tensor(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


ALPHA = tensor(0.5)[0]


def test_the_soft_value_is_the_lowest_critic_plus_the_worth_of_surprise() -> None:
    # min(3, 2) - 0.5 * -1 = 2.5; min(-1, 4) - 0.5 * 2 = -2
    q = torch.tensor([[3.0, -1.0], [2.0, 4.0]])
    value = soft_value(q=q, logprob=tensor(-1.0, 2.0), alpha=ALPHA)
    torch.testing.assert_close(value, tensor(2.5, -2.0))


def test_the_soft_value_of_choices_weighs_them_by_their_probability() -> None:
    # p = 0.25, 0.75; lowest q = 1, 2. 0.25 (1 - 0.5 ln 0.25) + 0.75 (2 - 0.5 ln 0.75)
    logprob = torch.tensor([[math.log(0.25), math.log(0.75)]])
    q = torch.tensor([[[1.0, 5.0]], [[3.0, 2.0]]])
    expected = 0.25 * (1 + 0.5 * 1.3862944) + 0.75 * (2 + 0.5 * 0.2876821)  # 2.0311676
    value = soft_value_of_choices(q=q, logprob=logprob, alpha=ALPHA)
    torch.testing.assert_close(value, tensor(expected))


def test_a_target_bootstraps_where_the_process_goes_on() -> None:
    # 1 + 0.9 * 10; 2 where it ended.
    next_value = tensor(10.0, 10.0).requires_grad_()
    target = q_target(reward=tensor(1.0, 2.0), discount=tensor(0.9, 0.0), next_value=next_value)
    torch.testing.assert_close(target, tensor(10.0, 2.0))
    assert not target.requires_grad


def test_every_critic_pays_half_its_squared_error() -> None:
    # Targets 1, 0; critics (2, 1) and (0, -3): (1 + 1) / 2 = 1, (1 + 9) / 2 = 5.
    q = torch.tensor([[2.0, 1.0], [0.0, -3.0]], requires_grad=True)
    target = tensor(1.0, 0.0).requires_grad_()
    loss = critic_loss(q=q, target=target)
    torch.testing.assert_close(loss, tensor(1.0, 5.0))
    loss.sum().backward()
    torch.testing.assert_close(q.grad, torch.tensor([[1.0, 1.0], [-1.0, -3.0]]))
    assert target.grad is None


def test_the_actor_pays_for_certainty_and_climbs_the_lowest_critic() -> None:
    # 0.5 * 2 - 3 = -2
    q = torch.tensor([[3.0], [4.0]], requires_grad=True)
    logprob = tensor(2.0).requires_grad_()
    alpha = ALPHA.clone().requires_grad_()
    loss = actor_loss(q=q, logprob=logprob, alpha=alpha)
    torch.testing.assert_close(loss, tensor(-2.0))
    loss.sum().backward()
    torch.testing.assert_close(q.grad, torch.tensor([[-1.0], [0.0]]))
    torch.testing.assert_close(logprob.grad, tensor(0.5))
    assert alpha.grad is None


def test_the_loss_of_choices_is_minus_their_soft_value_without_a_gradient_to_critics() -> None:
    logits = torch.tensor([[0.3, -0.2]], requires_grad=True)
    q = torch.tensor([[[1.0, 5.0]], [[3.0, 2.0]]], requires_grad=True)
    loss = actor_loss_of_choices(q=q, logprob=logits.log_softmax(1), alpha=ALPHA)
    loss.sum().backward()
    assert q.grad is None
    # d/dz_0 of sum p (alpha log p - q) = p0 p1 [(alpha log p0 - q0) - (alpha log p1 - q1)]
    # = p0 p1 [0.5 * (z0 - z1) - (1 - 2)] with p0 = sigmoid(0.5) = 0.6224593: 0.2350037 * 1.25
    torch.testing.assert_close(logits.grad, torch.tensor([[0.2937546, -0.2937546]]))


def test_the_temperature_rises_while_entropy_is_short() -> None:
    log_alpha = torch.tensor(0.7, requires_grad=True)
    loss = temperature_loss(log_alpha=log_alpha, entropy=tensor(-3.0, 1.0), target_entropy=-0.5)
    # 0.7 * (-3 + 0.5) and 0.7 * (1 + 0.5); the mean gradient -0.5 makes a descent go up.
    torch.testing.assert_close(loss.detach(), tensor(-1.75, 1.05))
    loss.mean().backward()
    torch.testing.assert_close(log_alpha.grad, tensor(-0.5)[0])
