from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.distributions import Bernoulli, Categorical, DiagonalNormal, MultiCategorical
from utils.errors import ConfigError
from utils.policy_factory import ActorCritic, PolicySettings, build_distribution, build_policy

VECTOR = gym.spaces.Box(-np.inf, np.inf, (3,))
ACTION_SPACES = {
    "discrete": gym.spaces.Discrete(4, start=-1),
    "multi_discrete": gym.spaces.MultiDiscrete([3, 2]),
    "multi_binary": gym.spaces.MultiBinary(3),
    "box": gym.spaces.Box(-1, 1, (2, 2)),
}


def build(
    action_space: gym.Space = ACTION_SPACES["discrete"],
    observation_space: gym.Space = VECTOR,
    **changes: Any,
) -> ActorCritic:
    settings = {
        "hidden_dims": (8, 6),
        "activation": "tanh",
        "orthogonal_init": True,
        "share_trunk": False,
        "log_std_init": 0.0,
        "feature_dim": 16,
        "normalize_obs": "none",
        "clip_obs": 10.0,
        "has_critic": True,
    }
    torch.manual_seed(0)
    return build_policy(observation_space, action_space, PolicySettings(**(settings | changes)))


@pytest.mark.parametrize(
    ("name", "distribution", "n_parameters"),
    [
        ("discrete", Categorical(4), 4),
        ("multi_discrete", MultiCategorical((3, 2)), 5),
        ("multi_binary", Bernoulli(3), 3),
        ("box", DiagonalNormal((2, 2)), 4),
    ],
)
def test_each_action_space_has_its_distribution(
    name: str, distribution: object, n_parameters: int
) -> None:
    assert build_distribution(ACTION_SPACES[name]) == (distribution, n_parameters)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.MultiDiscrete([[2, 2]]),
        gym.spaces.MultiBinary((2, 2)),
        gym.spaces.Dict(a=gym.spaces.Discrete(2)),
    ],
)
def test_other_action_spaces_are_refused(space: gym.Space) -> None:
    with pytest.raises(ConfigError, match="is not supported"):
        build_distribution(space)


@pytest.mark.parametrize("name", ACTION_SPACES)
@pytest.mark.parametrize("share_trunk", [False, True])
def test_learning_sees_the_numbers_of_acting(name: str, share_trunk: bool) -> None:
    policy = build(ACTION_SPACES[name], share_trunk=share_trunk)
    observation = torch.randn(5, 3)
    step = policy.act(observation, generator=torch.Generator().manual_seed(1))
    evaluation = policy.evaluate_actions(observation, step.action)
    assert step.logprob.shape == step.value.shape == evaluation.entropy.shape == (5,)
    torch.testing.assert_close(evaluation.logprob, step.logprob)
    torch.testing.assert_close(evaluation.value, step.value)
    torch.testing.assert_close(policy.predict_value(observation), step.value)
    entropy = policy.distribution.entropy(policy(observation)[0])
    torch.testing.assert_close(evaluation.entropy, entropy)


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_greedy_actions_need_no_randomness(name: str) -> None:
    policy = build(ACTION_SPACES[name])
    observation = torch.randn(50, 3)
    first, second = (policy.act(observation, deterministic=True).action for _ in range(2))
    assert torch.equal(first, second)
    parameters, _ = policy(observation)
    assert torch.equal(first, policy.distribution.mode(parameters))


def test_sampled_actions_follow_the_generator() -> None:
    policy, observation = build(), torch.randn(50, 3)
    before = torch.get_rng_state()
    a, b, c = (
        policy.act(observation, generator=torch.Generator().manual_seed(seed)).action
        for seed in (1, 1, 2)
    )
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_first_policy_is_nearly_uniform() -> None:
    logits = build()(torch.randn(100, 3))[0][0]
    assert logits.abs().max().item() < 0.05
    assert build(orthogonal_init=False)(torch.randn(100, 3))[0][0].abs().max().item() > 0.05


def test_a_shared_trunk_is_shared_and_separate_ones_are_not() -> None:
    def does_value_loss_move_the_policy(policy: ActorCritic) -> bool:
        observation = torch.randn(4, 3)
        before = policy(observation)[0][0].detach()
        policy(observation)[1].sum().backward()
        with torch.no_grad():
            for parameter in policy.parameters():
                if parameter.grad is not None:
                    parameter -= 0.5 * parameter.grad
        return not torch.equal(policy(observation)[0][0], before)

    assert does_value_loss_move_the_policy(build(share_trunk=True))
    assert not does_value_loss_move_the_policy(build(share_trunk=False))


@pytest.mark.parametrize("activation", ["tanh", "relu", "silu"])
@pytest.mark.parametrize("share_trunk", [True, False])
def test_the_value_alone_is_the_value_beside_the_action(activation: str, share_trunk: bool) -> None:
    policy, observation = build(activation=activation, share_trunk=share_trunk), torch.randn(5, 3)
    torch.testing.assert_close(policy.predict_value(observation), policy(observation)[1])


def test_without_a_critic_values_are_zero_and_no_weights_are_kept_for_them() -> None:
    policy, observation = build(has_critic=False), torch.randn(4, 3)
    assert policy.act(observation).value.tolist() == [0.0] * 4
    assert policy.predict_value(observation).tolist() == [0.0] * 4
    assert not [name for name, _ in policy.named_parameters() if "critic" in name]


def test_initial_spread_of_continuous_actions() -> None:
    policy = build(ACTION_SPACES["box"], log_std_init=-1.0)
    parameters, _ = policy(torch.randn(2, 3))
    assert parameters[1].tolist() == [-1.0] * 4
    # four dimensions of -1 + 0.918939 + 0.5
    entropy = policy.evaluate_actions(torch.zeros(1, 3), torch.zeros(1, 2, 2)).entropy
    assert entropy.item() == pytest.approx(1.675754, rel=1e-5)


PICTURE = gym.spaces.Box(0, 255, (1, 36, 36), np.uint8)


@pytest.mark.parametrize(
    ("written", "action_space", "observation_space", "faults"),
    [
        ("log_std_init", "discrete", VECTOR, [r"log_std_init.*Discrete\(4, start=-1\)"]),
        ("log_std_init", "multi_binary", VECTOR, [r"log_std_init.*MultiBinary"]),
        ("log_std_init", "box", VECTOR, []),
        ("feature_dim", "box", VECTOR, [r"feature_dim.*no picture"]),
        ("feature_dim", "discrete", gym.spaces.Dict(a=VECTOR), [r"feature_dim.*no picture"]),
        ("feature_dim", "discrete", PICTURE, []),
        ("feature_dim", "discrete", gym.spaces.Dict(a=VECTOR, b=PICTURE), []),
        ("feature_dim log_std_init", "discrete", VECTOR, ["log_std_init", "feature_dim"]),
        ("", "discrete", VECTOR, []),
    ],
)
def test_what_somebody_wrote_must_mean_something_for_the_spaces(
    written: str, action_space: str, observation_space: gym.Space, faults: list[str]
) -> None:
    arguments = (ACTION_SPACES[action_space], observation_space)
    if not faults:
        build(*arguments, written=frozenset(written.split()))
        return
    with pytest.raises(ConfigError) as caught:
        build(*arguments, written=frozenset(written.split()))
    lines = str(caught.value).splitlines()
    assert len(lines) == len(faults)
    for line, fault in zip(lines, faults, strict=True):
        assert re.search(fault, line), line
        assert "has no effect" in line


def test_no_hidden_layers_is_a_linear_policy() -> None:
    policy = build(hidden_dims=())
    assert policy.actor_head.in_features == 3
    assert policy.act(torch.zeros(2, 3)).action.shape == (2,)


def test_integer_observations_are_told_apart() -> None:
    policy = build(observation_space=gym.spaces.Discrete(16), orthogonal_init=False)
    values = policy.predict_value(torch.arange(16))
    assert policy.encoder.output_dim == 16
    assert values.unique().numel() == 16


def test_normaliser_is_part_of_the_saved_policy() -> None:
    policy = build(normalize_obs="rolling")
    policy.normalizer.update(torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    other = build(normalize_obs="rolling")
    other.load_state_dict(policy.state_dict())
    x = torch.tensor([[3.0, 2.0, 2.0]])
    assert other.normalize(x).flatten().tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert torch.equal(other.normalize(x), policy.normalize(x))
