"""The losses against numbers that were worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from agents.world_models.world_models_losses import (
    divergence_loss,
    end_loss,
    expectation_loss,
    mean_where,
    reconstruction_loss,
)
from utils.distributions.normal_mixture import NormalMixture


def test_pixels_are_summed_and_pictures_are_not():
    predicted = torch.zeros(2, 1, 1, 2)
    picture = torch.tensor([[[[1.0, 0.5]]], [[[0.0, 0.2]]]])
    # 1 + 0.25; 0.04
    torch.testing.assert_close(reconstruction_loss(predicted, picture), torch.tensor([1.25, 0.04]))


def test_the_divergence_and_what_of_it_is_free():
    mean = torch.tensor([[1.0, 0.0], [3.0, 0.0]])
    log_var = torch.tensor([[0.0, math.log(4.0)], [0.0, 0.0]])
    # 0.5 * (1 + (4 - 1 - 1.386294)) = 1.306853; 0.5 * 9 = 4.5
    loss = divergence_loss(mean, log_var, free_nats=0.0)
    torch.testing.assert_close(loss, torch.tensor([1.306853, 4.5]))
    mean.requires_grad_()
    loss = divergence_loss(mean, log_var, free_nats=2.0)
    torch.testing.assert_close(loss.detach(), torch.tensor([2.0, 4.5]))
    loss.sum().backward()
    # Below the bound nothing pulls.
    assert mean.grad.tolist() == [[0.0, 0.0], [3.0, 0.0]]


@pytest.mark.parametrize("is_joint", [False, True])
def test_with_one_component_both_mixtures_have_the_loss_of_a_normal_distribution(is_joint):
    mixture = NormalMixture(2, 1, is_joint=is_joint)
    parameters = torch.zeros(mixture.n_parameters, requires_grad=True)
    latent = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = expectation_loss(mixture, parameters, latent)
    # Squares 1 and 4, halved, and log sqrt(2 pi) = 0.918939 of each, for each of two numbers.
    assert loss.item() == pytest.approx(2.168939, rel=1e-5)
    loss.backward()
    assert latent.grad is None  # V is not taught to be easy to foretell
    assert parameters.grad[-4:-2].tolist() == [-0.5, -1.0]  # the means are drawn to what came


def test_an_end_weighs_more_and_is_an_end_of_the_process_alone():
    logit = torch.tensor([2.0, 2.0])
    terminated = torch.tensor([False, True])
    # log(1 + e^-2) = 0.126928; 10 * log(1 + e^2) = 10 * 2.126928
    loss = end_loss(logit, terminated, end_weight=10.0)
    torch.testing.assert_close(loss, torch.tensor([0.126928, 21.26928]))


def test_means_are_over_what_is_valid():
    values = torch.tensor([[1.0, 100.0], [3.0, 5.0]])
    valid = torch.tensor([[True, False], [True, True]])
    assert mean_where(values, valid).item() == 3.0
    assert mean_where(values, torch.zeros_like(valid)).item() == 0.0
