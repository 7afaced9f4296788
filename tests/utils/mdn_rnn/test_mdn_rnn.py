"""V and M: shapes of the paper, memory and episodes, dreams."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.mdn_rnn import MdnRnnModel, MdnRnnSettings, play_dreams
from utils.mdn_rnn.vae import sample_normal
from utils.world_models import State

SPACE = gym.spaces.Box(0, 255, (3, 64, 64), np.uint8)


def build(**changes):
    torch.manual_seed(0)
    settings = {"latents": 4, "depth": 2, "units": 6, "mixtures": 2, "joint_mixture": False}
    return MdnRnnModel(SPACE, 2, MdnRnnSettings(**(settings | changes)))


def test_the_shapes_are_those_of_the_paper() -> None:
    model = build(latents=32, depth=32, units=256, mixtures=5)
    channels = [p.shape[0] for p in model.encoder.layers.parameters() if p.ndim == 4]
    assert channels == [32, 64, 128, 256]
    assert model.encoder.output.weight.shape == (64, 1024)
    kernels = [p.shape for p in model.decoder.layers.parameters() if p.ndim == 4]
    assert [tuple(k[1:3]) for k in kernels] == [(128, 5), (64, 5), (32, 6), (3, 6)]
    # Kernels and biases of the paper's appendix: 4,348,547 for 3 channels and 32 latents.
    assert sum(p.numel() for p in model.vision.parameters()) == 4_348_547
    assert model.rssm.cell.weight_hh.shape == (4 * 256, 256)
    assert model.rssm.output.out_features == 3 * 5 * 32
    joint = build(latents=32, units=256, mixtures=5, joint_mixture=True)
    assert joint.rssm.output.out_features == 5 + 2 * 5 * 32


def test_pictures_become_numbers_and_pictures_again() -> None:
    model = build()
    observation = torch.randint(0, 256, (2, 3, 3, 64, 64), dtype=torch.uint8)
    posterior = model.encoder(observation, n_leading=2)
    assert posterior.shape == (2, 3, 8)
    decoded = model.decoder(torch.randn(2, 3, model.rssm.n_features)).pictures[0]
    assert decoded.shape == (2, 3, 3, 64, 64)
    assert 0.0 <= decoded.min() <= decoded.max() <= 1.0
    # It reads the latent alone, the last of the features.
    features = torch.zeros(2, model.rssm.n_features)
    features[1, : model.rssm.deter] = 5.0
    first, second = model.decoder(features).pictures[0]
    torch.testing.assert_close(first, second)


def test_draws_have_mean_and_deviation() -> None:
    parameters = torch.tensor([1.0, -1.0, 2.0 * math.log(3.0), 0.0])
    noise = torch.tensor([1.0, -2.0])
    torch.testing.assert_close(sample_normal(parameters, noise), torch.tensor([4.0, -3.0]))
    assert sample_normal(parameters, None).tolist() == [1.0, -1.0]


def test_the_cell_is_an_lstm() -> None:
    rssm = build().rssm
    deter, latent, action = torch.randn(3, 12), torch.randn(3, 4), torch.randn(3, 2)
    hidden, cell = rssm.cell(torch.cat([latent, action], dim=-1), tuple(deter.chunk(2, dim=-1)))
    torch.testing.assert_close(
        rssm.advance(deter, latent, action), torch.cat([hidden, cell], dim=-1)
    )


def test_a_sequence_is_its_steps_one_after_another() -> None:
    rssm = build().rssm
    latent, action = torch.randn(5, 2, 4), torch.randn(5, 2, 2)
    is_first = torch.zeros(5, 2, dtype=torch.bool)
    is_first[3, 1] = True
    remembered = rssm.remember(latent, action, is_first)
    state, before = rssm.initial(2), torch.zeros(2, 2)
    for t in range(5):
        embedding = torch.cat([latent[t], torch.zeros(2, 4)], dim=-1)
        state, _ = rssm.observe_step(state, before, embedding, is_first[t])
        torch.testing.assert_close(state.deter, remembered[t])
        before = action[t]


def test_nothing_passes_from_one_episode_to_the_next() -> None:
    rssm = build().rssm
    is_first = torch.zeros(4, 1, dtype=torch.bool)
    is_first[2] = True

    def memory(seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        latent = torch.cat([torch.randn(2, 1, 4, generator=generator), torch.ones(2, 1, 4)])
        action = torch.cat([torch.randn(2, 1, 2, generator=generator), torch.ones(2, 1, 2)])
        return rssm.remember(latent, action, is_first)

    first, second = memory(1), memory(2)
    assert not torch.equal(first[1], second[1])
    assert torch.equal(first[2:], second[2:])


def test_what_follows_hangs_on_what_was_done() -> None:
    rssm = build().rssm
    is_first = torch.zeros(3, 1, dtype=torch.bool)
    latent = torch.zeros(3, 1, 4)
    action = torch.zeros(3, 1, 2)
    other = action.clone()
    other[1] = 1.0  # done at step 1, so it shows from step 2 on
    first, second = (rssm.remember(latent, a, is_first) for a in (action, other))
    assert torch.equal(first[:2], second[:2])
    assert not torch.equal(first[2], second[2])


def test_pictures_of_another_size_are_refused() -> None:
    space = gym.spaces.Box(0, 255, (3, 48, 48), np.uint8)
    with pytest.raises(ConfigError, match="not 48 x 48: set resize_obs"):
        MdnRnnModel(
            space,
            2,
            MdnRnnSettings(latents=4, depth=2, units=6, mixtures=2, joint_mixture=False),
        )


def dreamt(model, n_controllers, *, seed=0, n_steps=6, act=None):
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(3, 4, generator=generator)
    zeros = torch.zeros(n_controllers, 3, 2)
    return play_dreams(
        model,
        act or (lambda features: zeros),
        first,
        n_controllers=n_controllers,
        n_steps=n_steps,
        temperature=1.0,
        generator=generator,
    )


def always(model, *, reward: float, goes_on: float):
    """Let the model foretell the same reward and the same logit of going on in every state."""
    for layer, value in ((model.reward.layer, reward), (model.goes_on.layer, goes_on)):
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.constant_(layer.bias, value)
    return model


def test_a_dream_pays_until_the_end_is_likelier_than_not() -> None:
    played = dreamt(always(build(), reward=2.0, goes_on=0.1), 2)
    assert played.returns.tolist() == [[12.0] * 3] * 2
    assert played.lengths.tolist() == [[6] * 3] * 2
    played = dreamt(always(build(), reward=2.0, goes_on=-0.1), 2)
    assert played.returns.tolist() == [[2.0] * 3] * 2  # that of the end counts
    assert played.lengths.tolist() == [[1] * 3] * 2


def test_all_controllers_dream_of_the_same_chance() -> None:
    model = build()
    seen = []

    def act(features):
        seen.append(features)
        return torch.zeros(2, 3, 2)

    played = dreamt(model, 2, act=act)
    torch.testing.assert_close(played.returns[0], played.returns[1])
    for features in seen:
        torch.testing.assert_close(features[0], features[1])
    assert not torch.equal(seen[1][0, 0], seen[1][0, 1])  # dreams differ from each other


def test_a_dream_goes_on_as_imagining_does() -> None:
    model = always(build(), reward=1.0, goes_on=1.0)
    seen = []

    def act(features):
        seen.append(features[0])
        return torch.ones(1, 3, 2)

    dreamt(model, 1, act=act, n_steps=3)
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(3, 4, generator=generator)
    start = model.rssm.advance(*model.rssm.initial(3), torch.zeros(3, 2))
    noise = torch.stack([model.rssm.latent.draw_noise((3,), generator) for _ in range(2)])
    imagined = model.rssm.imagine(
        State(start, first), lambda state, step: (torch.ones(3, 2), torch.ones(3, 2)), noise
    )
    torch.testing.assert_close(torch.stack(seen), imagined.state.features)
