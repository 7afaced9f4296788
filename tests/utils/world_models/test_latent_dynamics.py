"""The model of TD-MPC: how it begins, its sizes, simplices, critics, priors and pictures."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.config.algos.tdmpc import TDMPC_SIZES, VERSIONS
from utils.world_models.action_prior import NoisyPrior, SquashedPrior
from utils.world_models.latent_dynamics import LatentDynamics, LatentSettings
from utils.world_models.latent_encoder import shift_pictures
from utils.world_models.latent_layers import SimplexNorm
from utils.world_models.number_codes import BinnedNumber, PlainNumber
from utils.world_models.value_ensemble import ValueEnsemble

NUMBERS = gym.spaces.Box(-np.inf, np.inf, (24,), np.float32)
OTHERS = {
    "channels": 32,
    "simplex_dim": 8,
    "norm": "layer",
    "activation": "mish",
    "numbers": "two_hot",
    "begins": "normal",
    "prior": "squashed_normal",
}


def build(size: str = "tiny", *, space=NUMBERS, predicts_end: bool = False, **changes):
    settings = LatentSettings(**(TDMPC_SIZES[size] | OTHERS | changes))
    return LatentDynamics(space, 6, settings, predicts_end=predicts_end)


@pytest.mark.parametrize(("size", "low", "high"), [("1M", 0.8e6, 1.6e6), ("5M", 4.5e6, 5.5e6)])
def test_sizes_are_what_they_are_called(size: str, low: float, high: float) -> None:
    with torch.device("meta"):
        model = build(size)
    assert low < sum(p.numel() for p in model.parameters()) < high


@pytest.mark.parametrize(("size", "millions"), [("19M", 19), ("48M", 48), ("317M", 317)])
def test_large_sizes_are_what_they_are_called(size: str, millions: int) -> None:
    with torch.device("meta"):
        model = build(size)
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, rel=0.15)


def test_networks_begin_as_published() -> None:
    model = build("1M")
    for weight in (
        *model.critics.weights[:2],
        model.dynamics[0].weight,
        model.encoder.output[0].weight,
    ):
        assert weight.std().item() == pytest.approx(0.02, rel=0.05)
        assert abs(weight.mean().item()) < 2e-3
    assert not model.critics.weights[2].any()
    assert not model.reward[-1].weight.any()
    assert all(not bias.any() for bias in model.critics.biases)
    assert not any(m.bias.any() for m in model.modules() if isinstance(m, torch.nn.Linear))
    first, second = model.critics.weights[0]
    assert not torch.equal(first, second)


def test_rewards_and_values_are_0_at_first() -> None:
    model = build()
    pairs = torch.randn(5, 64 + 6)
    assert model.number.mean(model.reward(pairs)).abs().max() < 1e-5
    assert model.number.mean(model.critics(pairs)).abs().max() < 1e-5


def test_latent_states_are_distributions() -> None:
    model = build()
    states = model.roll_out(model.encoder(torch.randn(5, 24), n_leading=1), torch.randn(3, 5, 6))
    assert states.shape == (4, 5, 64)
    groups = states.view(4, 5, 8, 8)
    torch.testing.assert_close(groups.sum(dim=-1), torch.ones(4, 5, 8))


def test_simplices_are_softmaxes_of_groups() -> None:
    out = SimplexNorm(2)(torch.tensor([0.0, math.log(3.0), 5.0, 5.0]))
    assert out.tolist() == pytest.approx([0.25, 0.75, 0.5, 0.5])


def test_a_roll_out_is_step_by_step() -> None:
    model = build()
    latent, actions = torch.rand(2, 64), torch.randn(2, 2, 6)
    states = model.roll_out(latent, actions)
    torch.testing.assert_close(states[2], model.next(model.next(latent, actions[0]), actions[1]))
    assert not torch.equal(states[1], states[0])


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_critics_are_separate_networks(norm: str) -> None:
    kinds = {"width": 8, "norm": norm, "activation": "elu", "begins": "orthogonal"}
    both = ValueEnsemble(5, 3, n_critics=2, **kinds)
    torch.nn.init.normal_(both.weights[2])
    inputs = torch.randn(4, 7, 5)
    out = both(inputs)
    assert out.shape == (2, 4, 7, 3)
    assert not torch.allclose(out[0], out[1])
    for index in range(2):
        one = ValueEnsemble(5, 3, n_critics=1, **kinds)
        for mine, theirs in zip(one.parameters(), both.parameters(), strict=True):
            mine.data = theirs.data[index : index + 1]
        torch.testing.assert_close(one(inputs)[0], out[index])
    out[1].sum().backward()
    assert not both.weights[0].grad[0].any()
    assert both.weights[0].grad[1].any()


def test_dropout_is_drawn_for_the_first_layer_alone() -> None:
    critics = build().critics
    generator = torch.Generator().manual_seed(0)
    kept = critics.draw_kept(500, dropout=0.25, generator=generator)
    assert kept.shape == (2, 500, 128)
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert kept.mean().item() == pytest.approx(1.0, abs=0.02)
    assert critics.draw_kept(5, dropout=0.0, generator=generator) is None
    torch.nn.init.normal_(critics.weights[2])
    inputs = torch.randn(500, 70)
    assert not torch.allclose(critics(inputs, kept), critics(inputs))
    torch.testing.assert_close(critics(inputs, torch.ones_like(kept)), critics(inputs))


def test_numbers_survive_their_bins() -> None:
    code = BinnedNumber()
    target = torch.tensor([-500.0, -1.0, 0.0, 0.3, 20000.0])
    logits = torch.zeros(5, 101, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.5)
    for _ in range(200):
        optimizer.zero_grad()
        code.loss(logits, target).sum().backward()
        optimizer.step()
    torch.testing.assert_close(code.mean(logits.detach()), target, rtol=0.02, atol=0.02)


def test_plain_numbers_are_squared() -> None:
    code = PlainNumber()
    assert code.loss(torch.tensor([[3.0]]), torch.tensor([1.0])).tolist() == [4.0]


def test_the_prior_is_a_squashed_normal() -> None:
    layers = torch.nn.Identity()
    prior = SquashedPrior(layers, 2)
    output = torch.tensor([[0.3, -0.4, 0.0, 0.0]])  # log std is the middle of -10 and 2: -4
    noise = torch.tensor([[1.0, -2.0]])
    action, entropy = prior(output, noise, torch.tensor(0.0))
    std = math.exp(-4.0)
    expected = [math.tanh(0.3 + std), math.tanh(-0.4 - 2 * std)]
    assert action[0].tolist() == pytest.approx(expected)
    # -2 * sum(-noise^2 / 2 - log std - log(2 pi) / 2)
    assert entropy.item() == pytest.approx(-2 * (-2.5 + 8.0 - math.log(2 * math.pi)))
    assert prior(output, None, torch.tensor(0.0)).action[0].tolist() == pytest.approx(
        [math.tanh(0.3), math.tanh(-0.4)]
    )


def test_the_first_priors_noise_is_cut_off_and_its_gradient_goes_on() -> None:
    prior = NoisyPrior(torch.nn.Identity(), 2)
    output = torch.tensor([[0.0, 9.0]], requires_grad=True)
    action, entropy = prior(output, torch.tensor([[10.0, 1.0]]), torch.tensor(0.5))
    assert action[0].tolist() == pytest.approx([0.3, 1.0])
    assert entropy.item() == 0.0
    action[0, 0].backward()
    assert output.grad[0].tolist() == pytest.approx([1.0, 0.0])


def test_pictures_of_64_pixels_are_the_latent_state_themselves() -> None:
    space = gym.spaces.Box(0, 255, (9, 64, 64), np.uint8)
    model = build("5M", space=space)
    picture = torch.randint(0, 256, (2, 3, 9, 64, 64), dtype=torch.uint8)
    latent = model.encoder(picture, n_leading=2)
    assert latent.shape == (2, 3, 512)
    assert isinstance(model.encoder.output, SimplexNorm)


def test_pictures_and_numbers_make_one_latent_state() -> None:
    parts = {"camera": gym.spaces.Box(0, 255, (3, 64, 64), np.uint8), "speed": NUMBERS}
    model = build(space=gym.spaces.Dict(parts))
    observation = {
        "camera": torch.zeros(2, 3, 64, 64, dtype=torch.uint8),
        "speed": torch.randn(2, 24),
    }
    assert model.encoder(observation, n_leading=1).shape == (2, 64)


def test_shifted_pictures_repeat_their_edge() -> None:
    picture = torch.arange(9.0).view(1, 1, 3, 3)
    down = shift_pictures(picture, torch.tensor([[1, 0]]))
    assert down[0, 0].tolist() == [[3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [6.0, 7.0, 8.0]]
    left = shift_pictures(picture, torch.tensor([[0, -2]]))
    assert left[0, 0].tolist() == [[0.0, 0.0, 0.0], [3.0, 3.0, 3.0], [6.0, 6.0, 6.0]]
    encoder = build("5M", space=gym.spaces.Box(0, 255, (3, 64, 64), np.uint8)).encoder
    shifts = encoder.draw_shifts(200, most=3, generator=torch.Generator().manual_seed(0))
    assert shifts.shape == (1, 200, 2)
    assert (shifts.min().item(), shifts.max().item()) == (-3, 3)


def test_the_first_version_has_neither_norms_nor_simplices() -> None:
    kwargs = dict(VERSIONS[1]["policy_kwargs"])
    kwargs.pop("dropout")
    model = build(prior="noisy", **kwargs)
    assert not any(isinstance(m, torch.nn.LayerNorm | SimplexNorm) for m in model.modules())
    assert isinstance(model.prior, NoisyPrior)
    latent = model.encoder(torch.randn(3, 24), n_leading=1)
    assert model.critics(torch.cat([latent, torch.zeros(3, 6)], dim=-1)).shape == (2, 3, 1)


def test_ends_are_expected_only_if_asked_for() -> None:
    assert build().end is None
    model = build(predicts_end=True)
    model.end[-1].bias.data.fill_(1.0)
    model.end[-1].weight.data.zero_()
    assert model.has_ended(torch.rand(4, 64)).all()
