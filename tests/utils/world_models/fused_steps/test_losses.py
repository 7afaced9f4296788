"""Losses of latents and numbers by a kernel against torch's operations one by one."""

from __future__ import annotations

import pytest
import torch

from tests.helpers.fused_steps import fused_steps, noted_launches
from tests.helpers.triton_device import DEVICE
from utils.distributions.two_hot import exponential_bins
from utils.world_models import CategoricalLatent, balanced_divergence
from utils.world_models.fused_steps import losses
from utils.world_models.heads import TwoHotHead


def draw(*shape: int, seed: int = 0, scale: float = 3.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator)).to(DEVICE).requires_grad_()


@pytest.mark.parametrize(("n_choices", "n_classes"), [(3, 4), (1, 2), (5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_divergences_and_their_gradients(
    n_choices: int, n_classes: int, dtype: torch.dtype
) -> None:
    latent = CategoricalLatent(n_choices, n_classes, uniform_share=0.1)
    posterior, prior = (draw(2, 3, latent.width, seed=seed) for seed in (1, 2))
    results = []
    for are_used in (True, False):
        with fused_steps(are_used=are_used):
            terms = balanced_divergence(
                latent, posterior.to(dtype), prior.to(dtype), free_nats=0.5, of_mean=False
            )
        places = torch.arange(6, dtype=torch.float32, device=DEVICE).view(2, 3) - 2.2
        loss = (places * terms[0]).sum() + 0.3 * (places.square() * terms[1]).sum()
        results.append([x.detach() for x in terms])
        results[-1] += torch.autograd.grad(loss, [posterior, prior])
    near = 1e-5 if dtype == torch.float32 else 2e-2
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=near, atol=near)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_entropies(share: float) -> None:
    latent = CategoricalLatent(5, 7, uniform_share=share)
    parameters = draw(4, latent.width)
    with torch.no_grad(), fused_steps(are_used=True), noted_launches() as names:
        mine = latent.entropy(parameters)
    assert names == ["entropy_kernel"]
    torch.testing.assert_close(mine, latent.entropy(parameters).detach(), rtol=1e-5, atol=1e-5)


def test_what_has_no_kernel_stays_as_it_is() -> None:
    latent = CategoricalLatent(3, 4, uniform_share=0.0)
    first, second = draw(2, 12, seed=1), draw(2, 12, seed=2)
    with fused_steps(are_used=True):
        mine, entropy = latent.divergence(first, second), latent.entropy(first)
    assert torch.equal(mine, latent.divergence(first, second))
    assert entropy.requires_grad


def numbers(n_bins: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return bins and numbers: between, on, beyond them, and 0."""
    bins = exponential_bins(n_bins, limit=3.0).to(DEVICE)
    target = torch.linspace(-25.0, 25.0, 13, device=DEVICE)
    return bins, torch.cat([target, bins[:3], bins[-2:], torch.zeros(1, device=DEVICE)])


def build_head(n_bins: int) -> TwoHotHead:
    head = TwoHotHead(2, n_bins=n_bins, width=4, n_layers=0, norm="rms", activation="silu")
    head.bins = exponential_bins(n_bins, limit=3.0)
    return head.to(DEVICE)


@pytest.mark.parametrize("n_bins", [3, 7, 33])
def test_numbers_by_bins(n_bins: int) -> None:
    head = build_head(n_bins)
    _, target = numbers(n_bins)
    logits = draw(len(target), n_bins)
    results = []
    for are_used in (True, False):
        with fused_steps(are_used=are_used):
            loss = head.loss(logits, target)
            with torch.no_grad():
                mean = head.mean(logits)
        places = torch.arange(len(target), dtype=torch.float32, device=DEVICE).cos()
        (gradient,) = torch.autograd.grad((places * loss).sum(), [logits])
        results.append([loss.detach(), mean, gradient])
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


def test_one_number_by_hand() -> None:
    # Bins -1, 0, 1 and the number 1/4: weights (0, 3/4, 1/4). Logits log (1, 2, 5): p = (1/8, 1/4,
    # 5/8). Loss -(3/4 ln(1/4) + 1/4 ln(5/8)) = 1.1572218; gradient (1/8, -1/2, 3/8); mean 1/2.
    bins = torch.tensor([-1.0, 0.0, 1.0], device=DEVICE)
    logits = torch.tensor([[1.0, 2.0, 5.0]], device=DEVICE).log().requires_grad_()
    loss = losses.two_hot_loss(logits, torch.tensor([0.25], device=DEVICE), bins)
    (gradient,) = torch.autograd.grad(loss.sum(), [logits])
    assert loss.item() == pytest.approx(1.1572218, rel=1e-6)
    assert gradient[0].tolist() == pytest.approx([0.125, -0.5, 0.375], rel=1e-5)
    assert losses.two_hot_mean(logits, bins).item() == pytest.approx(0.5, rel=1e-6)


def test_the_mean_of_a_symmetric_distribution_is_zero_exactly() -> None:
    bins = exponential_bins(255, limit=20.0).to(DEVICE)
    half = draw(4, 127, scale=1.0).detach()
    logits = torch.cat([half, torch.ones(4, 1, device=DEVICE), half.flip(-1)], dim=-1)
    assert losses.two_hot_mean(logits, bins).tolist() == [0.0] * 4


def test_opposite_bins_that_differ_by_rounding_alone_mean_nothing() -> None:
    # The last of 255 bins is worth 485,165,194; see tests/utils/distributions/test_two_hot.py.
    bins, logits = exponential_bins(255, limit=20.0).to(DEVICE), torch.zeros(3, 255, device=DEVICE)
    logits[0, -1] = logits[2, 3] = 1e-6
    logits[1, -1] = 1e-4
    said = losses.two_hot_mean(logits, bins)
    torch.testing.assert_close(said.cpu(), torch.tensor([0.0, 190.26, 0.0]), rtol=1e-3, atol=0.0)


def test_no_number_stays_no_number() -> None:
    bins = exponential_bins(7, limit=3.0).to(DEVICE)
    logits = torch.zeros(2, 7, device=DEVICE)
    target = torch.tensor([torch.nan, 1.0], device=DEVICE)
    assert losses.two_hot_loss(logits, target, bins).isnan().tolist() == [True, False]
    logits[0, 3] = torch.nan
    assert losses.two_hot_loss(logits, torch.ones(2, device=DEVICE), bins)[0].isnan()
    assert losses.two_hot_mean(logits, bins)[0].isnan()


def test_means_with_gradients_are_those_of_torch() -> None:
    head = build_head(7)
    logits = draw(2, 7)
    with fused_steps(are_used=True):
        mean = head.mean(logits)
    assert mean.requires_grad
