from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.helpers.counting_policy import CountingPolicy
from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv
from utils.errors import EnvironmentFailedError
from utils.policy_factory import ActorCritic
from utils.rollouts import EvaluationResult, evaluate_policy
from utils.rollouts.evaluation import episode_quotas


def evaluate(env: CountingVectorEnv, policy: Any = None, **changes: Any) -> EvaluationResult:
    arguments = {
        "n_episodes": 4,
        "seed": 5,
        "deterministic": True,
        "device": torch.device("cpu"),
        "timeout_seconds": 60.0,
    }
    return evaluate_policy(policy or CountingPolicy(), env, **(arguments | changes))


def result(returns: list[float]) -> EvaluationResult:
    return EvaluationResult(
        returns=returns,
        lengths=[1] * len(returns),
        n_unfinished=0,
        seconds=0.0,
        seed=0,
        is_deterministic=True,
    )


def test_short_episodes_do_not_crowd_out_long_ones() -> None:
    found = evaluate(CountingVectorEnv([1, 100]))
    assert found.returns == [1.0, 1.0, 100.0, 100.0]
    assert found.lengths == [1, 1, 100, 100]
    assert found.mean == 50.5
    assert found.n_unfinished == 0


@pytest.mark.parametrize(
    ("n_episodes", "n_envs", "quotas"),
    [(4, 2, [2, 2]), (5, 3, [2, 2, 1]), (2, 3, [1, 1, 0]), (1, 1, [1])],
)
def test_quotas(n_episodes: int, n_envs: int, quotas: list[int]) -> None:
    assert episode_quotas(n_episodes, n_envs).tolist() == quotas


def test_fewer_episodes_than_environments() -> None:
    found = evaluate(CountingVectorEnv([3, 5, 1]), n_episodes=2)
    assert found.returns == [3.0, 5.0]


def test_returns_come_in_the_order_of_environments_then_time() -> None:
    env = CountingVectorEnv(
        [3, 2], reward=lambda env_index, episode, step: 10 * env_index + episode
    )
    # env 0: 3 * 0 and 3 * 1;  env 1: 2 * 10 and 2 * 11
    assert evaluate(env).returns == [0.0, 3.0, 20.0, 22.0]


def test_an_endless_episode_is_given_up_and_not_counted() -> None:
    started = time.perf_counter()
    found = evaluate(CountingVectorEnv([None]), n_episodes=3, timeout_seconds=0.05)
    assert time.perf_counter() - started < 60
    assert found.returns == found.lengths == []
    assert found.n_unfinished == 3
    assert found.mean is found.std is found.confidence_half_width() is None
    assert found.seconds >= 0.05


def test_what_was_finished_before_the_time_was_up_counts() -> None:
    found = evaluate(CountingVectorEnv([2, None]), timeout_seconds=0.05)
    assert found.returns == [2.0, 2.0]
    assert found.n_unfinished == 2


def test_an_episode_longer_than_the_limit_is_given_up() -> None:
    env = CountingVectorEnv([5, 6, None])
    found = evaluate(env, n_episodes=6, max_episode_steps=5)
    # One that ends in its fifth step has not passed a limit of five.
    assert found.returns == [5.0, 5.0]
    assert found.n_unfinished == 4
    assert len(env.actions) == 10


def biased_policy(env: CountingVectorEnv) -> ActorCritic:
    """Logits (0, 0.1) whatever is seen: the second action has probability 0.525."""
    policy = build_linear_policy(env)
    with torch.no_grad():
        policy.actor_head.weight.zero_()
        policy.actor_head.bias.copy_(torch.tensor([0.0, 0.1]))
    return policy


@pytest.mark.parametrize(
    ("deterministic", "least", "most"), [(True, 1000, 1000), (False, 475, 575)]
)
def test_greedy_or_sampled_actions_as_asked_for(deterministic: bool, least: int, most: int) -> None:
    env = CountingVectorEnv([250] * 4, action_space=gym.spaces.Discrete(2))
    found = evaluate(env, biased_policy(env), deterministic=deterministic)
    assert least <= np.stack(env.actions).sum() <= most
    assert found.is_deterministic is deterministic


def test_greedy_continuous_actions_are_the_mean() -> None:
    env = CountingVectorEnv([3], action_space=gym.spaces.Box(-9, 9, (2,)))
    policy = build_linear_policy(env)
    evaluate(env, policy, n_episodes=1)
    for step, action in enumerate(env.actions):
        mean = policy(torch.tensor([[0.0, 0.0, step]]))[0][0]
        np.testing.assert_allclose(action, mean.detach(), rtol=1e-6)


def test_the_seed_decides_and_is_told() -> None:
    def actions(seed: int) -> np.ndarray:
        env = CountingVectorEnv([50, 50], action_space=gym.spaces.Discrete(2))
        found = evaluate(env, biased_policy(env), deterministic=False, seed=seed)
        assert found.seed == seed
        assert env.seeds == [seed]
        return np.stack(env.actions)

    np.testing.assert_array_equal(actions(1), actions(1))
    assert (actions(1) != actions(2)).any()


def test_training_goes_on_as_if_nothing_had_happened() -> None:
    env = CountingVectorEnv([7, 9])
    policy = build_linear_policy(env, normalize_obs="rolling")
    policy.normalizer.update(torch.tensor([[0.0, 1.0, 2.0], [1.0, 4.0, 8.0]]))
    before = {key: value.clone() for key, value in policy.state_dict().items()}
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    evaluate(env, policy, deterministic=False)
    after = policy.state_dict()
    assert before.keys() == after.keys()
    for key, value in before.items():
        assert torch.equal(after[key], value), key
    assert torch.equal(torch.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert not any(parameter.grad is not None for parameter in policy.parameters())
    assert all(parameter.requires_grad for parameter in policy.parameters())


def test_the_policy_sees_normalised_observations() -> None:
    env = CountingVectorEnv([2], action_space=gym.spaces.Box(-99, 99, (1,)))
    policy = build_linear_policy(env, normalize_obs="rolling")
    policy.normalizer.update(torch.tensor([[0.0, 0.0, -3.0], [0.0, 0.0, 5.0]]))
    with torch.no_grad():
        policy.actor_head.mean.weight.copy_(torch.tensor([[0.0, 0.0, 1.0]]))
    evaluate(env, policy, n_episodes=1)
    # mean 1, spread 4: steps 0 and 1 are seen as -1/4 and 0
    np.testing.assert_allclose(np.stack(env.actions).flatten(), [-0.25, 0.0], atol=1e-6)


def test_a_broken_environment_is_named() -> None:
    env = CountingVectorEnv(
        [9, 9], reward=lambda env_index, episode, step: [1.0, np.nan][env_index]
    )
    with pytest.raises(EnvironmentFailedError, match="environment 1"):
        evaluate(env)


def test_spread_and_interval_by_hand() -> None:
    # mean 3, squares 4 + 1 + 0 + 9 = 14 over 3, root 2.160247; times t(3) 3.1824 / 2: 3.437385
    found = result([1.0, 2.0, 3.0, 6.0])
    assert found.mean == 3.0
    assert found.std == pytest.approx(2.160247, rel=1e-6)
    assert found.confidence_half_width() == pytest.approx(3.437385, rel=1e-5)


def test_one_episode_has_a_mean_and_no_spread() -> None:
    found = result([4.0])
    assert (found.mean, found.std, found.confidence_half_width()) == (4.0, None, None)
