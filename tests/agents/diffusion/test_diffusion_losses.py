from __future__ import annotations

import pytest
import torch

from agents.diffusion.diffusion_losses import denoising_loss


def test_it_is_the_mean_squared_error_of_each_sequence() -> None:
    predicted = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]])
    loss = denoising_loss(predicted, torch.zeros(2, 2, 2), torch.ones(2, 2, dtype=torch.bool))
    # Actions cost 0.5 and 2, of two: 1.25; the second row nothing.
    assert loss.tolist() == pytest.approx([1.25, 0.0])


def test_what_lies_beyond_the_ends_changes_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    predicted, target = torch.randn((2, 3, 4, 2), generator=generator)
    is_real = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]], dtype=torch.bool)
    mean = (predicted - target).square()[is_real].mean()
    assert float(denoising_loss(predicted, target, is_real).mean()) == pytest.approx(float(mean))
    other = torch.where(is_real.unsqueeze(-1), predicted, predicted + 100.0)
    assert torch.equal(
        denoising_loss(other, target, is_real), denoising_loss(predicted, target, is_real)
    )


def test_what_lies_beyond_the_ends_has_no_gradient() -> None:
    predicted = torch.ones((1, 3, 1), requires_grad=True)
    is_real = torch.tensor([[True, False, True]])
    denoising_loss(predicted, torch.zeros(1, 3, 1), is_real).sum().backward()
    assert predicted.grad.flatten().tolist() == [1.0, 0.0, 1.0]  # 2 * 1 / 2 real ones
