from __future__ import annotations

import pytest
import torch

from agents.dqn.dqn_losses import (
    best_action,
    cross_entropy,
    divergence,
    next_value,
    project_distribution,
    q_of_action,
    td_loss,
    td_target,
    td_terms,
)


def tensor(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


TARGET_Q = torch.tensor([[1.0, 4.0, 2.0], [5.0, -1.0, 3.0]])
ONLINE_Q = torch.tensor([[7.0, 0.0, 1.0], [0.0, 0.0, 9.0]])


def test_the_next_value_is_the_maximum_or_that_of_the_online_networks_choice() -> None:
    # max of each row: 4 and 5. The online network would take actions 0 and 2: 1 and 3.
    torch.testing.assert_close(next_value(target_q=TARGET_Q, selector_q=TARGET_Q), tensor(4.0, 5.0))
    torch.testing.assert_close(next_value(target_q=TARGET_Q, selector_q=ONLINE_Q), tensor(1.0, 3.0))


def test_no_action_is_chosen_that_the_state_forbids() -> None:
    allowed = torch.tensor([[False, False, True], [True, True, False]])
    # Allowed are {2: 2} and {0: 5, 1: -1}.
    torch.testing.assert_close(
        next_value(target_q=TARGET_Q, selector_q=TARGET_Q, allowed=allowed), tensor(2.0, 5.0)
    )
    # Of ONLINE_Q {2: 1} and {0: 0, 1: 0}; the first of equals is taken.
    assert best_action(ONLINE_Q, allowed=allowed).tolist() == [2, 0]
    assert best_action(TARGET_Q - 100.0, allowed=allowed).tolist() == [2, 0]


def test_a_target_bootstraps_where_the_process_goes_on() -> None:
    # Three steps of reward 1 at gamma 0.9: 2.71, and 0.729 * 10 beyond; after an end at the second
    # step 1.9 and nothing.
    target = td_target(
        reward=tensor(2.71, 1.9), discount=tensor(0.729, 0.0), next_value=tensor(10.0, 10.0)
    )
    torch.testing.assert_close(target, tensor(10.0, 1.9))


def test_all_terms_of_a_batch_by_hand() -> None:
    # Targets: 1 + 0.5 * 1 = 1.5 (the online network chooses action 0) and -2 + 0 * 3 = -2. Values
    # of the actions taken: 1 and 0. Errors -0.5 and 2; Huber 0.125 and 1.5, slopes -0.5 and 1.
    q = torch.tensor([[9.0, 1.0, 9.0], [0.0, 9.0, 9.0]], requires_grad=True)
    loss, error, value = td_terms(
        q=q,
        action=torch.tensor([1, 0]),
        target_q=TARGET_Q,
        selector_q=ONLINE_Q,
        allowed=None,
        reward=tensor(1.0, -2.0),
        discount=tensor(0.5, 0.0),
        is_huber=True,
    )
    torch.testing.assert_close(loss, tensor(0.125, 1.5))
    torch.testing.assert_close(error, tensor(0.5, 2.0))
    torch.testing.assert_close(value, tensor(1.0, 0.0))
    (gradient,) = torch.autograd.grad(loss.mean(), [q])
    assert gradient.tolist() == [[0.0, -0.25, 0.0], [0.5, 0.0, 0.0]]


def test_losses_of_an_error() -> None:
    value, target = tensor(1.0, 1.0, 5.0, -3.0), tensor(1.5, 1.0, 2.0, 0.0)
    # Errors -0.5, 0, 3, -3. Huber: 0.125, 0, 2.5, 2.5; squares: 0.25, 0, 9, 9.
    torch.testing.assert_close(
        td_loss(value=value, target=target, is_huber=True), tensor(0.125, 0.0, 2.5, 2.5)
    )
    torch.testing.assert_close(
        td_loss(value=value, target=target, is_huber=False), tensor(0.25, 0.0, 9.0, 9.0)
    )


def test_gradients_flow_to_the_value_alone_and_are_bounded() -> None:
    q = torch.tensor([[0.5, 9.0], [8.0, 4.0]], requires_grad=True)
    bootstrap = tensor(2.0, 2.0).requires_grad_()
    value = q_of_action(q, torch.tensor([0, 1]))
    target = td_target(reward=tensor(-1.0, 0.0), discount=tensor(0.5, 0.5), next_value=bootstrap)
    # Targets 0 and 1, errors 0.5 and 3: slopes 0.5 and 1 (clipped).
    td_loss(value=value, target=target, is_huber=True).sum().backward()
    torch.testing.assert_close(q.grad, torch.tensor([[0.5, 0.0], [0.0, 1.0]]))
    assert bootstrap.grad is None


SUPPORT = tensor(-1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("probability", "reward", "discount", "expected"),
    [
        # Nothing moves.
        ((0.2, 0.5, 0.3), 0.0, 1.0, (0.2, 0.5, 0.3)),
        # Atoms go to -0.75, -0.25, 0.25 times... here 0.5 z: -0.5, 0, 0.5: halves of the outer two.
        ((0.2, 0.5, 0.3), 0.0, 0.5, (0.1, 0.75, 0.15)),
        # 0.25 + 0.5 z: -0.25, 0.25, 0.75. 0.2: a quarter to -1, three to 0. 0.5: three quarters to
        # 0, one to 1. 0.3: a quarter to 0, three to 1. -> 0.05, 0.15 + 0.375 + 0.075, 0.125 + 0.225
        ((0.2, 0.5, 0.3), 0.25, 0.5, (0.05, 0.6, 0.35)),
        # The end: all of it at the reward, 0.5: half at 0 and half at 1.
        ((0.2, 0.5, 0.3), 0.5, 0.0, (0.0, 0.5, 0.5)),
        # Beyond the ends: all at the last atom, or the first.
        ((0.2, 0.5, 0.3), 7.0, 1.0, (0.0, 0.0, 1.0)),
        ((0.2, 0.5, 0.3), -7.0, 1.0, (1.0, 0.0, 0.0)),
        # Exactly on an atom nothing is lost.
        ((0.2, 0.5, 0.3), 1.0, 0.0, (0.0, 0.0, 1.0)),
    ],
)
def test_the_projection_of_a_distribution(probability, reward, discount, expected) -> None:
    projected = project_distribution(
        probability=tensor(probability),
        reward=tensor(reward),
        discount=tensor(discount),
        support=SUPPORT,
    )
    torch.testing.assert_close(projected, tensor(expected))


def test_a_projection_keeps_the_mean_inside_the_support() -> None:
    generator = torch.Generator().manual_seed(0)
    support = torch.linspace(-10.0, 10.0, 51)
    probability = torch.rand((64, 51), generator=generator).softmax(dim=1)
    reward = torch.rand(64, generator=generator) * 2 - 1
    discount = torch.full((64,), 0.9)
    projected = project_distribution(
        probability=probability, reward=reward, discount=discount, support=support
    )
    torch.testing.assert_close(projected.sum(dim=1), torch.ones(64))
    expected = reward + 0.9 * (probability * support).sum(dim=1)
    torch.testing.assert_close((projected * support).sum(dim=1), expected, rtol=1e-4, atol=1e-5)


def test_cross_entropy_and_divergence() -> None:
    # softmax of (0, ln 3) is (1/4, 3/4). Target (1/2, 1/2):
    # -(ln 0.25 + ln 0.75) / 2 = 0.836988; less the entropy ln 2 = 0.693147: 0.143841.
    logits = torch.tensor([[0.0, 1.0986123]], requires_grad=True)
    target = tensor((0.5, 0.5))
    loss = cross_entropy(logits=logits, target=target)
    torch.testing.assert_close(loss, tensor(0.8369882))
    torch.testing.assert_close(
        divergence(cross_entropy=loss, target=target), tensor(0.1438410), rtol=1e-4, atol=0
    )
    loss.sum().backward()
    # The derivative is softmax - target.
    torch.testing.assert_close(logits.grad, tensor((-0.25, 0.25)))


def test_a_certain_target_has_no_entropy() -> None:
    loss = cross_entropy(logits=tensor((0.0, 0.0)), target=tensor((1.0, 0.0)))
    certain = divergence(cross_entropy=loss, target=tensor((1.0, 0.0)))
    torch.testing.assert_close(certain, tensor(0.6931472))
