from __future__ import annotations

import pytest
import torch

from agents.reinforce.reinforce_losses import baseline_loss, policy_gradient_loss


def test_policy_loss_weighs_logprobs_with_targets() -> None:
    loss = policy_gradient_loss(
        logprob=torch.tensor([-0.5, -2.0, -0.1]), target=torch.tensor([3.0, -1.0, 0.0])
    )
    # 0.5 * 3 = 1.5;  2 * -1 = -2;  0
    torch.testing.assert_close(loss, torch.tensor([1.5, -2.0, 0.0]))


def test_policy_loss_sends_gradient_to_logprobs_only() -> None:
    logprob = torch.tensor([-0.5, -2.0], requires_grad=True)
    target = torch.tensor([3.0, -1.0], requires_grad=True)
    policy_gradient_loss(logprob=logprob, target=target).sum().backward()
    # d(-logprob * target) / d logprob = -target: descending makes well-paid actions likelier
    torch.testing.assert_close(logprob.grad, torch.tensor([-3.0, 1.0]))
    assert target.grad is None


def test_policy_loss_leads_to_the_better_of_two_actions() -> None:
    logits = torch.zeros(2, requires_grad=True)
    logprob = logits.log_softmax(-1)
    policy_gradient_loss(logprob=logprob, target=torch.tensor([1.0, 2.0])).sum().backward()
    # softmax (0.5, 0.5): d loss / d logit_k = -target_k + 0.5 * (1 + 2) = 0.5, -0.5
    torch.testing.assert_close(logits.grad, torch.tensor([0.5, -0.5]))


def test_baseline_loss_is_the_squared_error() -> None:
    value = torch.tensor([3.0, -1.0], requires_grad=True)
    loss = baseline_loss(value=value, returns=torch.tensor([1.0, 2.0]))
    # errors 2 and -3, squared
    torch.testing.assert_close(loss, torch.tensor([4.0, 9.0]))
    loss.sum().backward()
    torch.testing.assert_close(value.grad, torch.tensor([4.0, -6.0]))


@pytest.mark.parametrize("shape", [(3, 1), (1,)])
def test_shapes_must_agree(shape: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError):
        policy_gradient_loss(logprob=torch.zeros(3), target=torch.zeros(shape))
    with pytest.raises(AssertionError):
        baseline_loss(value=torch.zeros(3), returns=torch.zeros(shape))
