from __future__ import annotations

import pytest
import torch

from utils.world_models.latents import CategoricalLatent, GaussianLatent

LN3 = 1.0986123


def test_a_share_of_each_distribution_is_uniform() -> None:
    # (3, 1) / 4, of which 0.9, and 0.1 / 2 each: (0.725, 0.275); (0.5, 0.5) stays
    latent = CategoricalLatent(2, 2, uniform_share=0.1)
    probability = latent.probabilities(torch.tensor([LN3, 0.0, 5.0, 5.0]))
    torch.testing.assert_close(probability, torch.tensor([[0.725, 0.275], [0.5, 0.5]]))


def test_categorical_divergence_by_hand() -> None:
    # First choice: 0.725 ln(0.725 / 0.5) + 0.275 ln(0.275 / 0.5) = 0.2693836 - 0.1644052
    # = 0.1049784 (the other way round 0.1131367). Second: nothing. Third: as the first.
    latent = CategoricalLatent(3, 2, uniform_share=0.1)
    first = torch.tensor([[LN3, 0.0, 1.0, 0.0, 0.0, LN3]])
    second = torch.tensor([[0.0, 0.0, 1.0, 0.0, 7.0, 7.0]])
    expected = torch.tensor([0.2099568])
    torch.testing.assert_close(latent.divergence(first, second), expected, rtol=1e-5, atol=0)


def test_thirty_two_choices_diverge_by_their_sum() -> None:
    # Nearly certain of 1 in 32: p = 0.99 + 0.01 / 32 = 0.9903125 and 31 times 0.0003125:
    # 0.9903125 ln(31.69) + 31 * 0.0003125 ln(0.01) = 3.4225212 - 0.0446126 = 3.3779086 nats each
    latent = CategoricalLatent(32, 32, uniform_share=0.01)
    certain = torch.zeros(1, 32, 32)
    certain[..., 0] = 100.0
    divergence = latent.divergence(certain.flatten(1), torch.zeros(1, 1024))
    torch.testing.assert_close(divergence, torch.tensor([32 * 3.3779086]), rtol=1e-5, atol=0)


def test_categorical_entropy_by_hand() -> None:
    # -(0.725 ln 0.725 + 0.275 ln 0.275) + ln 2 = 0.2331438 + 0.3550207 + 0.6931472
    latent = CategoricalLatent(2, 2, uniform_share=0.1)
    entropy = latent.entropy(torch.tensor([[LN3, 0.0, 0.0, 0.0]]))
    torch.testing.assert_close(entropy, torch.tensor([1.2813117]), rtol=1e-5, atol=0)


def test_without_a_share_certainty_is_no_number_out_of_reach() -> None:
    latent = CategoricalLatent(1, 2, uniform_share=0.0)
    certain = torch.tensor([[500.0, -500.0]], requires_grad=True)
    even = torch.zeros(1, 2)
    # ln 2 one way; 0.5 ln(0.5 / 1) + 0.5 (ln 0.5 + 1000) = 500 - ln 2 the other
    torch.testing.assert_close(latent.divergence(certain, even), torch.tensor([0.6931472]))
    torch.testing.assert_close(latent.divergence(even, certain), torch.tensor([499.3068528]))
    assert latent.entropy(certain) == 0.0
    (latent.divergence(certain, even) + latent.entropy(certain)).sum().backward()
    assert certain.grad.isfinite().all()


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_draws_are_in_proportion_to_the_probability(share: float) -> None:
    latent = CategoricalLatent(2, 3, uniform_share=share)
    parameters = torch.tensor([0.0, 1.0, 2.0, 5.0, 0.0, 0.0])
    noise = latent.draw_noise((100_000,), torch.Generator().manual_seed(0))
    states = latent.sample(parameters.expand(100_000, 6), noise)
    expected = latent.probabilities(parameters).flatten()
    # Five deviations of a share of 100,000 are at most 0.008.
    torch.testing.assert_close(states.mean(0), expected, rtol=0, atol=0.008)
    assert (states.unflatten(-1, (2, 3)).sum(-1) == 1).all()
    assert ((states == 0) | (states == 1)).all()


def test_without_noise_the_likeliest_is_taken() -> None:
    latent = CategoricalLatent(2, 3, uniform_share=0.01)
    state = latent.sample(torch.tensor([0.0, 3.0, 1.0, 2.0, -1.0, 0.0]), None)
    torch.testing.assert_close(state, torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]))


def test_gradients_pass_a_draw_straight_through() -> None:
    # d/dlogits of 0.99 softmax(0, 0) . (2, 0): 0.99 * (0.5 * 0.5 * 2, -0.5 * 0.5 * 2)
    latent = CategoricalLatent(1, 2, uniform_share=0.01)
    parameters = torch.zeros(1, 2, requires_grad=True)
    noise = torch.tensor([[[1.0, 0.1]]])  # p / noise is largest for the second
    state = latent.sample(parameters, noise)
    torch.testing.assert_close(state.detach(), torch.tensor([[0.0, 1.0]]), rtol=0, atol=0)
    (state * torch.tensor([2.0, 0.0])).sum().backward()
    torch.testing.assert_close(parameters.grad, torch.tensor([[0.495, -0.495]]))


def test_categorical_states_are_kept_as_numbers_of_classes() -> None:
    latent = CategoricalLatent(3, 256, uniform_share=0.0)
    classes = torch.tensor([[[0, 255, 7], [1, 2, 3]]], dtype=torch.uint8)
    states = latent.unpack(classes)
    assert states.shape == (1, 2, 768)
    assert states.dtype == torch.float32
    assert states[0, 0, 256 + 255] == states[0, 1, 512 + 3] == 1
    assert states.sum() == 6
    packed = latent.pack(states)
    assert packed.dtype == latent.stored_dtype == torch.uint8
    assert packed.shape[-1] == latent.stored_width
    assert torch.equal(packed, classes)


# softplus(0) + 0.1 = 0.7931472; softplus(1) + 0.1 = 1.4132617
GAUSSIAN = GaussianLatent(2, min_std=0.1)
FIRST, SECOND = torch.tensor([[1.0, -2.0, 0.0, 1.0]]), torch.tensor([[0.0, -2.0, 1.0, 1.0]])


def test_gaussian_divergence_by_hand() -> None:
    # The first dimensions: ln(1.4132617 / 0.7931472) + (0.6290825 + 1) / (2 * 1.9973086) - 0.5
    # = 0.5776470 + 0.4078194 - 0.5; the second dimensions are the same.
    divergence = GAUSSIAN.divergence(FIRST, SECOND)
    torch.testing.assert_close(divergence, torch.tensor([0.4854664]), rtol=1e-5, atol=0)


def test_gaussian_entropy_by_hand() -> None:
    # ln 0.7931472 + ln 1.4132617 + ln(2 pi e) = -0.2317465 + 0.3459005 + 2.8378771
    entropy = GAUSSIAN.entropy(FIRST)
    torch.testing.assert_close(entropy, torch.tensor([2.9520311]), rtol=1e-5, atol=0)


def test_gaussian_draws() -> None:
    noise = torch.tensor([[2.0, -1.0]])
    # 1 + 2 * 0.7931472, -2 - 1.4132617
    expected = torch.tensor([[2.5862944, -3.4132617]])
    torch.testing.assert_close(GAUSSIAN.sample(FIRST, noise), expected)
    torch.testing.assert_close(GAUSSIAN.sample(FIRST, None), torch.tensor([[1.0, -2.0]]))
    drawn = GAUSSIAN.draw_noise((50_000,), torch.Generator().manual_seed(0))
    assert drawn.shape == (50_000, 2)
    torch.testing.assert_close(drawn.std(0), torch.ones(2), rtol=0, atol=0.02)


def test_gaussian_gradients_reach_mean_and_deviation() -> None:
    parameters = FIRST.clone().requires_grad_()
    GAUSSIAN.sample(parameters, torch.ones(1, 2)).sum().backward()
    # 1 for a mean, sigmoid(raw) for a raw deviation
    torch.testing.assert_close(parameters.grad, torch.tensor([[1.0, 1.0, 0.5, 0.7310586]]))


def test_gaussian_states_are_kept_as_they_are() -> None:
    state = torch.randn(3, 2)
    assert torch.equal(GAUSSIAN.unpack(GAUSSIAN.pack(state)), state)


@pytest.mark.parametrize(
    "latent", [CategoricalLatent(4, 5, uniform_share=0.01), GaussianLatent(6, min_std=0.1)]
)
def test_half_precision_parameters_are_worked_out_in_float32(latent: object) -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn((2, 3, latent.n_parameters), generator=generator).bfloat16()
    noise = latent.draw_noise((3,), generator)
    for mine, exact in (
        (latent.divergence(a, b), latent.divergence(a.float(), b.float())),
        (latent.entropy(a), latent.entropy(a.float())),
        (latent.sample(a, noise), latent.sample(a.float(), noise)),
    ):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, exact)
