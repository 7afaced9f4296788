from __future__ import annotations

import torch

from agents.td3.td3_losses import actor_loss, critic_loss, q_target, smoothed_action


def tensor(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_noise_and_action_are_both_clipped() -> None:
    # 0.2 + 0.3; 0.9 + clip(0.8) = 1.4 -> 1; -0.7 + clip(-2) = -1.2 -> -1
    action, noise = torch.tensor([[0.2], [0.9], [-0.7]]), torch.tensor([[0.3], [0.8], [-2.0]])
    smoothed = smoothed_action(action=action, noise=noise, limit=0.5)
    torch.testing.assert_close(smoothed, torch.tensor([[0.5], [1.0], [-1.0]]))


def test_the_lowest_critic_bootstraps() -> None:
    # 1 + 0.5 * min(4, 6) = 3; 2 where the process ended.
    next_q = torch.tensor([[4.0, 9.0], [6.0, 9.0]], requires_grad=True)
    target = q_target(reward=tensor(1.0, 2.0), discount=tensor(0.5, 0.0), next_q=next_q)
    torch.testing.assert_close(target, tensor(3.0, 2.0))
    assert not target.requires_grad


def test_every_critic_pays_its_squared_error() -> None:
    # (2 - 1)^2 + (0 - 1)^2 = 2; (1 - 0)^2 + (-3)^2 = 10
    q = torch.tensor([[2.0, 1.0], [0.0, -3.0]], requires_grad=True)
    loss = critic_loss(q=q, target=tensor(1.0, 0.0))
    torch.testing.assert_close(loss, tensor(2.0, 10.0))
    loss.sum().backward()
    torch.testing.assert_close(q.grad, torch.tensor([[2.0, 2.0], [-2.0, -6.0]]))


def test_the_first_critic_judges_the_actor() -> None:
    q = torch.tensor([[2.0, 1.0], [0.0, -3.0]])
    torch.testing.assert_close(actor_loss(q=q), tensor(-2.0, -1.0))
