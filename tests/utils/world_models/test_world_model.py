from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.world_models import mixed_space, small_settings
from utils.errors import ConfigError
from utils.world_models import Head, State, WorldModel, balanced_divergence, build_scalar_head


def walker() -> gym.Space:
    return gym.spaces.Box(-np.inf, np.inf, (24,), np.float32)


def observations(n_steps: int, n: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)

    def draw(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, (n_steps, n, *shape), generator=generator)

    return {
        "camera": draw(0, 256, 3, 64, 64).to(torch.uint8),
        "speed": torch.randn((n_steps, n, 2), generator=generator),
        "gear": draw(-1, 2),
        "knobs": torch.stack([draw(5, 7), draw(10, 13)], dim=-1),
        "lamps": draw(0, 2, 2),
    }


def test_the_smallest_published_size_has_as_many_parameters_as_the_published_one() -> None:
    # 640,867 in the authors' code on walker: 24 numbers, 6 actions; the slow critic not counted
    settings = small_settings(
        deter=512, hidden=64, choices=32, classes=4, blocks=8, units=64, depth=4
    )
    model = WorldModel(walker(), 6, settings)
    kinds = {"width": 64, "n_layers": 3, "norm": "rms", "activation": "silu"}
    actor = Head(model.rssm.n_features, 12, **kinds)
    critic = build_scalar_head("two_hot", model.rssm.n_features, **kinds)
    modules = (model, actor, critic)
    assert sum(p.numel() for module in modules for p in module.parameters()) == 640_867


def run(model: WorldModel, *, n_steps: int = 3, n: int = 2) -> dict[str, torch.Tensor]:
    seen = observations(n_steps, n)
    generator = torch.Generator().manual_seed(1)
    observed = model.rssm.observe(
        model.rssm.initial(n),
        torch.randn((n_steps, n, 2), generator=generator),
        model.encoder(seen, n_leading=2),
        torch.tensor([[True, False], [False, False], [False, True]]),
        model.rssm.latent.draw_noise((n_steps, n), generator),
    )
    features = observed.state.features
    losses = model.decoder.loss(model.decoder(features), seen)
    losses["dynamics"], losses["representation"] = balanced_divergence(
        model.rssm.latent, observed.posterior, observed.prior, free_nats=0.0, of_mean=False
    )
    losses["reward"] = model.reward.loss(model.reward(features), torch.ones(n_steps, n))
    if model.goes_on is not None:
        losses["continue"] = model.goes_on.loss(model.goes_on(features), torch.ones(n_steps, n))
    return losses


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"latent": "gaussian", "numbers": "normal"},
        {"dynamics": "gru", "norm": "layer", "pictures": "strided", "activation": "elu"},
        {"encoder_layers": 0, "decoder_layers": 0, "reward_layers": 0},
    ],
)
def test_a_mixed_observation_teaches_every_parameter(changes: dict) -> None:
    torch.manual_seed(0)
    model = WorldModel(mixed_space(), 2, small_settings(**changes))
    with torch.no_grad():
        model.reward.output.weight.normal_()  # two-hot heads begin with zeros, which pass nothing
    losses = run(model)
    assert set(losses) >= {"picture", "vector", "choice", "dynamics", "reward", "continue"}
    for name, loss in losses.items():
        assert loss.shape == (3, 2), name
        assert loss.dtype == torch.float32, name
    sum(loss.sum() for loss in losses.values()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_half_precision_gives_nearly_the_same_losses_in_float32() -> None:
    torch.manual_seed(0)
    model = WorldModel(mixed_space(), 2, small_settings())
    exact = run(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = run(model)
    for name, loss in rough.items():
        assert loss.dtype == torch.float32, name
    for name in ("picture", "reward", "continue"):
        torch.testing.assert_close(rough[name], exact[name], rtol=0.05, atol=0.05)
    sum(loss.sum() for loss in rough.values()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.dtype == torch.float32, name
        assert parameter.grad.isfinite().all(), name


def test_the_head_of_the_end_may_be_left_out() -> None:
    model = WorldModel(walker(), 2, small_settings(), predicts_end=False)
    assert model.goes_on is None


def test_an_encoder_of_one_kind_of_part() -> None:
    torch.manual_seed(0)
    vector = WorldModel(walker(), 2, small_settings()).encoder
    assert vector.output_dim == 8
    assert vector(torch.randn(4, 24), n_leading=1).shape == (4, 8)
    camera = WorldModel(gym.spaces.Box(0, 255, (1, 96, 96), np.uint8), 2, small_settings()).encoder
    picture = torch.zeros(2, 3, 1, 96, 96, dtype=torch.uint8)
    assert camera(picture, n_leading=2).shape == (2, 3, camera.output_dim)
    assert camera.vector is None


def test_numbers_are_read_by_their_symmetric_logarithm() -> None:
    torch.manual_seed(0)
    encoder = WorldModel(walker(), 2, small_settings(encoder_layers=0)).encoder
    x = torch.full((1, 24), -1e4)
    torch.testing.assert_close(encoder(x, n_leading=1), torch.full((1, 24), -9.2104404))


def test_pictures_of_an_awkward_size_are_refused() -> None:
    with pytest.raises(ConfigError, match="resize_obs"):
        WorldModel(gym.spaces.Box(0, 255, (3, 84, 84), np.uint8), 2, small_settings())


def test_a_fresh_model_expects_no_reward() -> None:
    torch.manual_seed(0)
    model = WorldModel(walker(), 2, small_settings())
    state = State(torch.randn(5, 16), torch.randn(5, 12))
    assert (model.reward.mean(model.reward(state.features)) == 0).all()
