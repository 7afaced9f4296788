from __future__ import annotations

import torch
from torch import Tensor

from utils.returns import episode_return, reward_to_go


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32).unsqueeze(1)


def flags(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.bool).unsqueeze(1)


def assert_equal(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-6)


def test_a_terminated_episode_is_the_sum_of_its_rewards() -> None:
    returns = reward_to_go(
        reward=column(1, 2, 3),
        next_value=column(50, 60, 70),
        terminated=flags(0, 0, 1),
        done=flags(0, 0, 1),
        gamma=0.5,
    )
    # 3;  2 + 0.5 * 3 = 3.5;  1 + 0.5 * 3.5 = 2.75
    assert_equal(returns, column(2.75, 3.5, 3))


def test_a_truncated_episode_goes_on_with_the_value_of_its_end() -> None:
    returns = reward_to_go(
        reward=column(1, 2, 3),
        next_value=column(50, 60, 8),
        terminated=flags(0, 0, 0),
        done=flags(0, 0, 1),
        gamma=0.5,
    )
    # 3 + 0.5 * 8 = 7;  2 + 3.5 = 5.5;  1 + 2.75 = 3.75; the values in between do not count
    assert_equal(returns, column(3.75, 5.5, 7))


def test_an_episode_truncated_before_the_last_row_goes_on_with_its_own_value() -> None:
    returns = reward_to_go(
        reward=column(1, 2, 3),
        next_value=column(50, 8, 0),
        terminated=flags(0, 0, 1),
        done=flags(0, 1, 1),
        gamma=0.5,
    )
    # 3 | 2 + 0.5 * 8 = 6;  1 + 0.5 * 6 = 4
    assert_equal(returns, column(4, 6, 3))


def test_an_unfinished_episode_goes_on_with_the_last_value() -> None:
    returns = reward_to_go(
        reward=column(1, 2),
        next_value=column(50, 4),
        terminated=flags(0, 0),
        done=flags(0, 0),
        gamma=0.5,
    )
    # 2 + 0.5 * 4 = 4;  1 + 0.5 * 4 = 3
    assert_equal(returns, column(3, 4))


def test_episodes_and_environments_do_not_mix() -> None:
    returns = reward_to_go(
        reward=torch.tensor([[1.0, 1.0], [1.0, 10.0], [1.0, 100.0]]),
        next_value=torch.tensor([[7.0, 7.0], [7.0, 7.0], [0.0, 0.0]]),
        terminated=torch.tensor([[False, True], [True, False], [True, True]]),
        done=torch.tensor([[False, True], [True, False], [True, True]]),
        gamma=0.5,
    )
    # env 0: 1 + 0.5 * 1 = 1.5, 1 | 1       env 1: 1 | 10 + 0.5 * 100 = 60, 100
    assert_equal(returns, torch.tensor([[1.5, 1.0], [1.0, 60.0], [1.0, 100.0]]))


def test_one_step() -> None:
    returns = reward_to_go(
        reward=column(2), next_value=column(9), terminated=flags(1), done=flags(1), gamma=0.9
    )
    assert_equal(returns, column(2))


def test_arguments_stay_as_they_were() -> None:
    next_value, done = column(1, 2, 3), flags(0, 1, 0)
    reward_to_go(
        reward=column(1, 1, 1), next_value=next_value, terminated=done, done=done, gamma=0.9
    )
    assert torch.equal(next_value, column(1, 2, 3))
    assert torch.equal(done, flags(0, 1, 0))


def test_every_step_of_an_episode_gets_its_first_return() -> None:
    shared = episode_return(
        returns=torch.tensor([[6.0, 1.0], [5.0, 9.0], [3.0, 7.0], [4.0, 8.0]]),
        done=torch.tensor([[False, True], [False, False], [True, True], [True, False]]),
    )
    # env 0: 6 6 6 | 4     env 1: 1 | 9 9 | 8
    assert_equal(shared, torch.tensor([[6.0, 1.0], [6.0, 9.0], [6.0, 9.0], [4.0, 8.0]]))


def test_the_return_of_one_step_is_its_own() -> None:
    assert_equal(episode_return(returns=column(3), done=flags(0)), column(3))
