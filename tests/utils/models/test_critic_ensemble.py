from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from utils.models.critic_ensemble import CriticEnsemble

OBSERVATION = gym.spaces.Box(-1, 1, (3,))


def build(**settings) -> CriticEnsemble:
    torch.manual_seed(0)
    defaults = {"n_critics": 2, "action_dim": 2, "output_dim": 1, "hidden_dims": (8, 4)}
    shape = {"activation": "relu", "feature_dim": 16}
    return CriticEnsemble(OBSERVATION, **(defaults | shape | settings))


def test_each_critic_is_a_network_of_its_own() -> None:
    ensemble = build()
    observation, action = torch.randn(5, 3), torch.randn(5, 2)
    q = ensemble(observation, action)
    assert q.shape == (2, 5)
    for e in range(2):
        hidden = torch.cat([observation, action], dim=1)
        for k, (weight, bias) in enumerate(zip(ensemble.weights, ensemble.biases, strict=True)):
            hidden = hidden @ weight[e] + bias[e]
            hidden = torch.relu(hidden) if k < 2 else hidden
        torch.testing.assert_close(q[e], hidden.squeeze(1))
    assert not torch.allclose(q[0], q[1])


def test_weights_begin_as_torchs_own_layers() -> None:
    torch.manual_seed(0)
    first = nn.Linear(5, 8)
    torch.testing.assert_close(build().weights[0][0], first.weight.T)


def test_choices_are_valued_all_at_once() -> None:
    assert build(action_dim=0, output_dim=4)(torch.randn(5, 3)).shape == (2, 5, 4)


def test_layer_norm_makes_hidden_layers_blind_to_the_scale_of_their_inputs() -> None:
    ensemble = build(layer_norm=True, hidden_dims=(8,))
    with torch.no_grad():
        ensemble.biases[0].zero_()
    observation, action = torch.randn(5, 3), torch.randn(5, 2)
    torch.testing.assert_close(
        ensemble(observation, action),
        ensemble(observation * 100, action * 100),
        rtol=1e-3,
        atol=1e-3,
    )


def test_pictures_are_read_by_convolutions_that_all_critics_share() -> None:
    space = gym.spaces.Box(0, 255, (4, 36, 36), np.uint8)
    settings = {"n_critics": 3, "action_dim": 2, "output_dim": 1, "hidden_dims": (8,)}
    ensemble = CriticEnsemble(space, activation="relu", feature_dim=16, **settings)
    picture = torch.randint(0, 256, (2, 4, 36, 36), dtype=torch.uint8)
    assert ensemble(picture, torch.zeros(2, 2)).shape == (3, 2)
