from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.errors import ConfigError
from utils.policies import Policy, QNetwork, QNetworkSettings, build_q_network

VECTOR = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
PICTURE = gym.spaces.Box(0, 255, (4, 36, 36), np.uint8)


def build(space: gym.Space = VECTOR, *, n_actions: int = 3, **changes) -> QNetwork:
    settings = {
        "hidden_dims": (8, 6),
        "activation": "relu",
        "orthogonal_init": False,
        "feature_dim": 16,
    }
    torch.manual_seed(0)
    return QNetwork(space, n_actions, QNetworkSettings(**(settings | changes)))


def shapes(network: QNetwork) -> dict[str, tuple[int, ...]]:
    return {k: tuple(p.shape) for k, p in network.named_parameters() if k.endswith("weight")}


def test_it_is_a_policy() -> None:
    assert isinstance(build(), Policy)


def test_layers_are_shared_up_to_the_last_one() -> None:
    assert shapes(build()) == {
        "trunk.0.weight": (8, 3),
        "advantage.hidden.weight": (6, 8),
        "advantage.output.weight": (3, 6),
    }
    dueling = shapes(build(dueling=True))
    assert dueling["value.hidden.weight"] == (6, 8)
    assert dueling["value.output.weight"] == (1, 6)
    assert shapes(build(hidden_dims=()))["advantage.output.weight"] == (3, 3)


def test_pictures_have_a_layer_of_features_after_the_convolutions() -> None:
    # 36 pixels: (36 - 8) / 4 + 1 = 8, (8 - 4) / 2 + 1 = 3, 3 - 3 + 1 = 1: 64 numbers.
    plain = shapes(build(PICTURE, hidden_dims=()))
    assert plain["advantage.hidden.weight"] == (16, 64)
    rainbow = shapes(build(PICTURE, hidden_dims=(), dueling=True, noisy_std=0.5))
    assert rainbow["value.hidden.weight"] == (16, 64)
    assert rainbow["advantage.output.weight"] == (3, 16)


def test_dueling_streams_join_around_the_mean_advantage() -> None:
    network = build(dueling=True)
    observation = torch.rand(2, 3)
    hidden = network.trunk(observation)
    advantage = network.advantage(hidden, is_noisy=False)
    value = network.value(hidden, is_noisy=False)
    expected = value + advantage - advantage.mean(dim=1, keepdim=True)
    torch.testing.assert_close(network.q_values(observation), expected)
    # The mean over the actions is the value of the state.
    torch.testing.assert_close(network.q_values(observation).mean(1, keepdim=True), value)


def test_values_of_distributions_are_their_means() -> None:
    network = build(atoms=(-1.0, 1.0, 3))
    assert network(torch.zeros(2, 3)).shape == (2, 3, 3)
    # Even: 0; certain of the first atom: -1; a half each of 0 and 1: 0.5.
    output = torch.tensor([[[0.0, 0.0, 0.0], [99.0, 0.0, 0.0], [-99.0, 0.0, 0.0]]])
    torch.testing.assert_close(network.q_of(output), torch.tensor([[0.0, -1.0, 0.5]]))


def test_the_best_allowed_action_is_taken() -> None:
    network = build()
    observation = torch.rand(5, 3)
    q = network.q_values(observation)
    step = network.act(observation, deterministic=True)
    assert torch.equal(step.action, q.argmax(dim=1))
    torch.testing.assert_close(step.value, q.amax(dim=1))
    mask = torch.ones_like(q, dtype=torch.bool).scatter_(1, step.action[:, None], False)
    other = network.act(observation, deterministic=True, mask=mask).action
    assert not (other == step.action).any()
    explained = network.explain(observation, mask=mask)
    assert torch.equal(explained["q_values"].argmax(dim=1), other)
    assert torch.isinf(explained["q_values"]).sum() == 5
    assert torch.equal(network.export_outputs(observation)["action"], step.action)


def test_evaluation_explores_by_its_own_epsilon() -> None:
    network = build(eval_epsilon=0.6)
    observation = torch.rand(1, 3).expand(20_000, 3)
    generator = torch.Generator().manual_seed(0)
    step = network.act(observation, generator=generator)
    best = network.act(observation, deterministic=True).action
    # 0.4 + 0.6 / 3 take the best one.
    share = (step.action == best).double().mean()
    assert share == pytest.approx(0.6, abs=0.015)
    logprob = torch.where(step.action == best, 0.6, 0.2).log()
    torch.testing.assert_close(step.logprob, logprob)
    mask = torch.tensor([[True, True, False]]).expand(20_000, 3)
    assert int(network.act(observation, generator=generator, mask=mask).action.max()) == 1


def test_noise_is_for_learning_and_collecting_alone() -> None:
    network = build(noisy_std=0.5)
    observation = torch.rand(1, 3)
    plain = network.q_values(observation)
    network.draw_noise(torch.Generator().manual_seed(0))
    assert not torch.equal(network.q_values(observation, is_noisy=True), plain)
    assert torch.equal(network.q_values(observation), plain)
    assert torch.equal(network.act(observation, deterministic=True).value, plain.amax(1))


def test_what_it_cannot_do_is_refused() -> None:
    settings = QNetworkSettings(
        hidden_dims=(), activation="relu", orthogonal_init=False, feature_dim=8
    )
    with pytest.raises(ConfigError, match=r"dqn values every single action.*Box"):
        build_q_network(VECTOR, VECTOR, settings, written=frozenset())
    with pytest.raises(ConfigError, match="feature_dim' has no effect"):
        build_q_network(
            VECTOR, gym.spaces.Discrete(2), settings, written=frozenset({"feature_dim"})
        )
