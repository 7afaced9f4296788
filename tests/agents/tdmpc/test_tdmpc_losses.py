"""The terms of TD-MPC: hand-computed numbers."""

from __future__ import annotations

import math

import pytest
import torch

from agents.tdmpc.tdmpc_losses import (
    consistency_loss,
    discount_of,
    end_loss,
    prior_loss,
    step_weights,
    td_target,
)


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values).view(-1, 1)


@pytest.mark.parametrize(
    ("steps", "gamma"),
    [
        (500, 0.99),  # (100 - 1) / 100
        (200, 0.975),  # (40 - 1) / 40
        (50, 0.95),  # 0.9 is too little
        (5000, 0.995),  # 0.999 is too much
    ],
)
def test_the_discount_follows_from_the_length_of_episodes(steps: int, gamma: float) -> None:
    assert discount_of(steps) == pytest.approx(gamma)


def test_an_end_takes_its_own_bootstrap_and_no_other() -> None:
    ended = torch.tensor([[False], [True], [False]])
    target = td_target(
        reward=column(1.0, 2.0, 3.0),
        terminated=ended,
        next_value=torch.stack([column(10.0, 20.0, 30.0), column(40.0, 10.0, 50.0)]),
        gamma=0.5,
    )
    # 1 + 0.5 * 10; 2 and nothing; 3 + 0.5 * 30
    assert target.flatten().tolist() == [6.0, 2.0, 18.0]


def test_steps_after_an_end_have_no_weight() -> None:
    ended = torch.tensor([[False, False], [True, False], [False, False]])
    weight = step_weights(ended, decay=0.5)
    assert weight.tolist() == [[1.0, 1.0], [0.5, 0.5], [0.0, 0.25]]


def test_consistency_is_the_mean_over_the_latent_and_teaches_only_the_dynamics() -> None:
    predicted = torch.tensor([[[1.0, 2.0]]], requires_grad=True)
    encoded = torch.tensor([[[3.0, 1.0]]], requires_grad=True)
    loss = consistency_loss(predicted, encoded)
    assert loss.tolist() == [[2.5]]  # (4 + 1) / 2
    loss.sum().backward()
    assert predicted.grad.flatten().tolist() == [-2.0, 1.0]
    assert encoded.grad is None


def test_ends_are_learnt_by_cross_entropy() -> None:
    output = column(0.0, math.log(3.0))
    loss = end_loss(output, torch.tensor([[True], [False]]))
    # -log 0.5 and -log(1 - 0.75)
    assert loss.flatten().tolist() == pytest.approx([math.log(2.0), math.log(4.0)])


def test_the_prior_climbs_scaled_values_and_entropy() -> None:
    value = column(4.0).requires_grad_()
    scale = torch.tensor(2.0, requires_grad=True)
    loss = prior_loss(value=value, entropy=column(3.0), scale=scale, ent_coef=0.1)
    assert loss.item() == pytest.approx(-2.3)  # -(4 / 2 + 0.3)
    loss.sum().backward()
    assert value.grad.item() == -0.5
    assert scale.grad is None
