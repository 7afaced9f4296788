from __future__ import annotations

import pytest
import torch
from torch import Tensor

from utils.returns import generalized_advantage


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32).unsqueeze(1)


def flags(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.bool).unsqueeze(1)


def assert_equal(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def test_hand_computed_numbers() -> None:
    advantage, returns = generalized_advantage(
        reward=column(1, 2, 3),
        value=column(0.5, 1, 1.5),
        next_value=column(1, 1.5, 2),
        terminated=flags(0, 0, 0),
        done=flags(0, 0, 0),
        gamma=0.9,
        gae_lambda=0.5,
    )
    # delta = 1 + 0.9 - 0.5 = 1.4;  2 + 1.35 - 1 = 2.35;  3 + 1.8 - 1.5 = 3.3
    # A[2] = 3.3;  A[1] = 2.35 + 0.45 * 3.3 = 3.835;  A[0] = 1.4 + 0.45 * 3.835 = 3.12575
    assert_equal(advantage, column(3.12575, 3.835, 3.3))
    # A + V
    assert_equal(returns, column(3.62575, 4.835, 4.8))


def test_termination_cuts_the_step_that_ended_and_no_other() -> None:
    advantage, _ = generalized_advantage(
        reward=column(1, 1, 1),
        value=column(2, 2, 4),
        next_value=column(2, 4, 6),
        terminated=flags(0, 1, 0),
        done=flags(0, 1, 0),
        gamma=0.5,
        gae_lambda=1.0,
    )
    # delta = 1 + 1 - 2 = 0;  1 - 2 = -1 (nothing after it);  1 + 3 - 4 = 0
    # A[2] = 0;  A[1] = -1;  A[0] = 0 + 0.5 * -1.  Flags read a step late give -1, 1, 0.
    assert_equal(advantage, column(-0.5, -1, 0))


def test_time_limit_bootstraps_from_the_final_observation() -> None:
    advantage, returns = generalized_advantage(
        reward=column(1, 1, 1),
        value=column(10, 10, 10),
        next_value=column(10, 10, 10),
        terminated=flags(0, 0, 0),
        done=flags(0, 0, 1),
        gamma=0.9,
        gae_lambda=1.0,
    )
    # delta = 1 + 9 - 10 = 0 at each step. As a termination it would be -7.29, -8.1, -9.
    assert_equal(advantage, column(0, 0, 0))
    assert_equal(returns, column(10, 10, 10))


def test_time_limit_cuts_the_trace() -> None:
    advantage, _ = generalized_advantage(
        reward=column(0, 100),
        value=column(0, 0),
        next_value=column(0, 0),
        terminated=flags(0, 1),
        done=flags(1, 1),
        gamma=0.99,
        gae_lambda=0.95,
    )
    # A trace that ran on would give A[0] = 0.99 * 0.95 * 100 = 94.05.
    assert_equal(advantage, column(0, 100))


def test_only_the_environment_that_was_cut_bootstraps() -> None:
    advantage, _ = generalized_advantage(
        reward=torch.tensor([[1.0, 1.0, 1.0]]),
        value=torch.zeros(1, 3),
        next_value=torch.tensor([[10.0, 10.0, 0.0]]),
        terminated=torch.tensor([[False, True, False]]),
        done=torch.tensor([[True, True, False]]),
        gamma=0.9,
        gae_lambda=0.95,
    )
    # 1 + 0.9 * 10 = 10;  1 (terminated);  1 + 0.9 * 0 = 1
    assert_equal(advantage, torch.tensor([[10.0, 1.0, 1.0]]))


def test_returns_are_targets_and_not_the_critics_own_output() -> None:
    _, returns = generalized_advantage(
        reward=column(1, 1, 1, 1),
        value=column(0, 0, 0, 0),
        next_value=column(0, 0, 0, 0),
        terminated=flags(0, 0, 0, 0),
        done=flags(0, 0, 0, 0),
        gamma=1.0,
        gae_lambda=1.0,
    )
    assert_equal(returns, column(4, 3, 2, 1))


def test_one_step_is_the_temporal_difference() -> None:
    advantage, returns = generalized_advantage(
        reward=column(2),
        value=column(3),
        next_value=column(5),
        terminated=flags(0),
        done=flags(0),
        gamma=0.5,
        gae_lambda=0.9,
    )
    # 2 + 0.5 * 5 - 3 = 1.5, and 1.5 + 3
    assert_equal(advantage, column(1.5))
    assert_equal(returns, column(4.5))


def random_rollout(n_steps: int, n_envs: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(5)
    numbers = torch.randn(3, n_steps, n_envs, generator=generator, dtype=torch.float64)
    reward, value, next_value = numbers
    terminated = torch.rand(n_steps, n_envs, generator=generator) < 0.15
    truncated = torch.rand(n_steps, n_envs, generator=generator) < 0.15
    return {
        "reward": reward,
        "value": value,
        "next_value": next_value,
        "terminated": terminated,
        "done": terminated | truncated,
    }


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(0.97, 0.9), (1.0, 1.0), (0.9, 0.0), (0, 0.5)])
def test_agrees_with_its_definition(gamma: float, gae_lambda: float) -> None:
    rollout = random_rollout(24, 5)
    advantage, returns = generalized_advantage(**rollout, gamma=gamma, gae_lambda=gae_lambda)

    T, N = rollout["reward"].shape
    expected = torch.zeros(T, N, dtype=torch.float64)
    for n in range(N):
        for t in range(T):
            # sum over k of (gamma * lambda)^k * delta[t + k], to the end of t's episode
            for k in range(T - t):
                s = t + k
                bootstrap = 0.0 if rollout["terminated"][s, n] else rollout["next_value"][s, n]
                delta = rollout["reward"][s, n] + gamma * bootstrap - rollout["value"][s, n]
                expected[t, n] += (gamma * gae_lambda) ** k * delta
                if rollout["done"][s, n]:
                    break
    torch.testing.assert_close(advantage, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(returns, expected + rollout["value"], rtol=1e-10, atol=1e-12)


def test_arguments_stay_as_they_were() -> None:
    rollout = random_rollout(6, 2)
    before = {key: field.clone() for key, field in rollout.items()}
    generalized_advantage(**rollout, gamma=0.9, gae_lambda=0.9)
    for key, field in rollout.items():
        assert torch.equal(field, before[key]), key


def test_gradient_reaches_back_to_the_rewards_of_the_episode() -> None:
    reward = column(0, 0, 0).requires_grad_()
    advantage, _ = generalized_advantage(
        reward=reward,
        value=column(0, 0, 0),
        next_value=column(0, 0, 0),
        terminated=flags(0, 1, 0),
        done=flags(0, 1, 0),
        gamma=0.8,
        gae_lambda=0.5,
    )
    advantage[0].sum().backward()
    # dA[0] / dr = 1, gamma * lambda, and nothing from the next episode
    assert_equal(reward.grad, column(1, 0.4, 0))


def test_shapes_must_agree() -> None:
    rollout = random_rollout(4, 2) | {"value": torch.zeros(4, 1, dtype=torch.float64)}
    with pytest.raises(AssertionError, match="4, 1"):
        generalized_advantage(**rollout, gamma=0.9, gae_lambda=0.9)
