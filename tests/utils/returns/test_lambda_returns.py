from __future__ import annotations

import pytest
import torch

from utils.returns.lambda_returns import lambda_returns

REWARD = torch.tensor([[1.0], [2.0], [3.0]])
DISCOUNT = torch.tensor([[0.5], [0.5], [0.0]])
NEXT_VALUE = torch.tensor([[4.0], [6.0], [100.0]])


def test_three_steps_by_hand() -> None:
    # R2 = 3 + 0; R1 = 2 + 0.5 (0.5 * 6 + 0.5 * 3) = 4.25; R0 = 1 + 0.5 (0.5 * 4 + 0.5 * 4.25)
    returns = lambda_returns(reward=REWARD, discount=DISCOUNT, next_value=NEXT_VALUE, trace=0.5)
    torch.testing.assert_close(returns, torch.tensor([[3.0625], [4.25], [3.0]]))


def test_the_last_step_bootstraps_with_its_next_value_alone() -> None:
    # 3 + 0.9 * 10, whatever the trace
    for trace in (0.0, 0.3, 1.0):
        returns = lambda_returns(
            reward=torch.tensor([[3.0]]),
            discount=torch.tensor([[0.9]]),
            next_value=torch.tensor([[10.0]]),
            trace=trace,
        )
        torch.testing.assert_close(returns, torch.tensor([[12.0]]))


def test_a_cut_bootstraps_and_ends_the_trace_but_is_no_end() -> None:
    # Cut after step 1: R1 = 2 + 0.5 * 6 = 5, whatever comes; R0 = 1 + 0.5 (0.5 * 4 + 0.5 * 5)
    trace = torch.tensor([[0.5], [0.0], [0.5]])
    for last in (3.0, 1e6):
        reward = torch.tensor([[1.0], [2.0], [last]])
        returns = lambda_returns(
            reward=reward, discount=DISCOUNT, next_value=NEXT_VALUE, trace=trace
        )
        torch.testing.assert_close(returns, torch.tensor([[3.25], [5.0], [last]]))


def test_an_end_leaves_the_reward_alone() -> None:
    discount = torch.tensor([[0.5], [0.0], [0.5]])
    returns = lambda_returns(reward=REWARD, discount=discount, next_value=NEXT_VALUE, trace=0.5)
    torch.testing.assert_close(returns[1], torch.tensor([2.0]))


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_it_is_the_weighted_sum_of_n_step_returns(trace: float) -> None:
    generator = torch.Generator().manual_seed(0)
    reward, next_value = torch.randn((2, 6, 4), generator=generator, dtype=torch.float64)
    discount = torch.rand((6, 4), generator=generator, dtype=torch.float64)

    def n_step(t: int, n: int) -> torch.Tensor:
        total, factor = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
        for k in range(t, t + n):
            total, factor = total + factor * reward[k], factor * discount[k]
        return total + factor * next_value[t + n - 1]

    returns = lambda_returns(reward=reward, discount=discount, next_value=next_value, trace=trace)
    for t in range(6):
        longest = 6 - t
        expected = trace ** (longest - 1) * n_step(t, longest)
        for n in range(1, longest):
            expected = expected + (1 - trace) * trace ** (n - 1) * n_step(t, n)
        torch.testing.assert_close(returns[t], expected)
