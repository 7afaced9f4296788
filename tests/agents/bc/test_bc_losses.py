from __future__ import annotations

import pytest
import torch

from agents.bc.bc_losses import distance, negative_likelihood, squared_error


def test_squared_error_is_the_mean_over_the_numbers_of_an_action() -> None:
    action = torch.tensor([[1.0, 2.0], [0.0, 0.0]], requires_grad=True)
    loss = squared_error(action, torch.tensor([[0.0, 4.0], [0.0, 0.0]]))
    assert loss.tolist() == [2.5, 0.0]  # (1^2 + 2^2) / 2
    loss.sum().backward()
    assert action.grad.tolist() == [[1.0, -2.0], [0.0, 0.0]]  # 2 (a - d) / 2


def test_two_ways_have_their_mean_as_the_least_error() -> None:
    demonstrated = torch.tensor([[1.0], [-1.0]])
    errors = [float(squared_error(torch.full((2, 1), a), demonstrated).mean()) for a in (-1, 0, 1)]
    assert errors == [2.0, 1.0, 2.0]


def test_likelihood_grows_as_the_loss_falls() -> None:
    logprob = torch.tensor([-0.5, -2.0], requires_grad=True)
    loss = negative_likelihood(logprob)
    assert loss.tolist() == [0.5, 2.0]
    loss.sum().backward()
    assert logprob.grad.tolist() == [-1.0, -1.0]


def test_choices_differ_or_not_and_numbers_by_how_much() -> None:
    chosen, done = torch.tensor([[0, 1], [2, 1]]), torch.tensor([[0, 1], [2, 0]])
    assert distance(chosen, done, is_choice=True).tolist() == [0.0, 1.0]
    assert distance(torch.tensor([3, 1]), torch.tensor([3, 2]), is_choice=True).tolist() == [0, 1]
    numbers = torch.tensor([[0.5, -0.5]])
    assert distance(numbers, torch.zeros(1, 2), is_choice=False).tolist() == pytest.approx([0.5])
