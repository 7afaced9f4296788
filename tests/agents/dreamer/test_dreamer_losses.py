"""The terms of the Dreamers against numbers that were worked out by hand."""

from __future__ import annotations

import pytest
import torch

from agents.dreamer.dreamer_losses import (
    continue_target,
    dream_returns,
    dream_weight,
    dynamics_loss,
    reinforce_loss,
    replay_returns,
    replay_weight,
)


def column(*values: float, grad: bool = False) -> torch.Tensor:
    return torch.tensor(values).unsqueeze(1).requires_grad_(grad)


def flags(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.bool).unsqueeze(1)


def test_only_a_termination_ends_what_may_go_on() -> None:
    terminated = flags(0, 1, 0)  # whether an episode was cut off is not even asked
    torch.testing.assert_close(
        continue_target(terminated, gamma=0.9, discounted=True), column(0.9, 0.0, 0.9)
    )
    torch.testing.assert_close(
        continue_target(terminated, gamma=0.9, discounted=False), column(1.0, 0.0, 1.0)
    )


def test_a_dream_counts_for_less_the_less_likely_it_is_reached() -> None:
    goes_on = column(0.5, 0.8, 0.9, grad=True)
    weight = dream_weight(goes_on)
    torch.testing.assert_close(weight, column(0.5, 0.4))  # 0.5, 0.5 * 0.8; the last has no action
    assert not weight.requires_grad


def test_returns_of_a_dream() -> None:
    returns = dream_returns(
        reward=column(100.0, 1.0, 2.0, 4.0),  # the first arrived before the dream began
        goes_on=column(100.0, 0.5, 0.8, 1.0),
        value=column(100.0, 10.0, 20.0, 30.0),
        trace=0.75,
    )
    # R3 = 4 + 1 * 30 = 34
    # R2 = 2 + 0.8 * (0.25 * 20 + 0.75 * 34) = 2 + 0.8 * 30.5 = 26.4
    # R1 = 1 + 0.5 * (0.25 * 10 + 0.75 * 26.4) = 1 + 0.5 * 22.3 = 12.15
    torch.testing.assert_close(returns, column(12.15, 26.4, 34.0))


@pytest.mark.parametrize(("trace", "expected"), [(0.0, [6.0, 18.0, 34.0]), (1.0, [15.6, 29.2, 34])])
def test_returns_at_the_ends_of_lambda(trace: float, expected: list[float]) -> None:
    returns = dream_returns(
        reward=column(0.0, 1.0, 2.0, 4.0),
        goes_on=column(1.0, 0.5, 0.8, 1.0),
        value=column(0.0, 10.0, 20.0, 30.0),
        trace=trace,
    )
    # 0: 1 + 0.5 * 10, 2 + 0.8 * 20; 1: 1 + 0.5 * (2 + 0.8 * 34), 2 + 0.8 * 34
    torch.testing.assert_close(returns, column(*expected))


def test_returns_of_a_dream_carry_gradients_to_rewards_and_values() -> None:
    reward = column(0.0, 1.0, 2.0, grad=True)
    value = column(0.0, 10.0, 20.0, grad=True)
    returns = dream_returns(reward=reward, goes_on=column(1.0, 0.5, 0.8), value=value, trace=0.75)
    returns[0].sum().backward()
    # R1 = r1 + 0.5 * (0.25 v1 + 0.75 (r2 + 0.8 v2))
    torch.testing.assert_close(reward.grad, column(0.0, 1.0, 0.375))
    torch.testing.assert_close(value.grad, column(0.0, 0.125, 0.3))


def test_returns_of_what_happened_know_a_cut_from_an_end() -> None:
    arguments = {
        "reward": column(100.0, 1.0, 2.0, 4.0),
        "bootstrap": column(100.0, 10.0, 20.0, 30.0),
        "gamma": 0.5,
        "trace": 0.8,
    }
    runs_on = replay_returns(terminated=flags(0, 0, 0, 0), truncated=flags(0, 0, 0, 0), **arguments)
    # R3 = 4 + 0.5 * 30 = 19; R2 = 2 + 0.5 (0.2 * 20 + 0.8 * 19) = 11.6
    # R1 = 1 + 0.5 (0.2 * 10 + 0.8 * 11.6) = 6.64
    torch.testing.assert_close(runs_on, column(6.64, 11.6, 19.0))
    ended = replay_returns(terminated=flags(0, 0, 1, 0), truncated=flags(0, 0, 0, 0), **arguments)
    # Nothing is worth anything behind an end: R2 = 2; R1 = 1 + 0.5 (0.2 * 10 + 0.8 * 2) = 2.8
    torch.testing.assert_close(ended, column(2.8, 2.0, 19.0))
    cut = replay_returns(terminated=flags(0, 0, 0, 0), truncated=flags(0, 0, 1, 0), **arguments)
    # A cut is valued, and what comes then is another episode: R2 = 2 + 0.5 * 20 = 12
    # R1 = 1 + 0.5 (0.2 * 10 + 0.8 * 12) = 6.8
    torch.testing.assert_close(cut, column(6.8, 12.0, 19.0))


def test_what_follows_the_end_of_an_episode_is_not_its_return() -> None:
    weight = replay_weight(flags(0, 1, 0, 0, 1), flags(0, 0, 0, 1, 0))
    torch.testing.assert_close(weight, column(1.0, 0.0, 1.0, 0.0))


def test_the_likelihood_of_good_actions() -> None:
    logprob = column(-1.0, -2.0, grad=True)
    entropy = column(0.5, 0.25, grad=True)
    advantage = column(3.0, -4.0, grad=True)
    weight = column(1.0, 0.5)
    loss = reinforce_loss(
        logprob=logprob, entropy=entropy, advantage=advantage, weight=weight, ent_coef=0.1
    )
    # -1 * (-1 * 3 + 0.1 * 0.5) = 2.95;  -0.5 * (-2 * -4 + 0.1 * 0.25) = -4.0125
    torch.testing.assert_close(loss, column(2.95, -4.0125))
    loss.sum().backward()
    torch.testing.assert_close(logprob.grad, column(-3.0, 2.0))
    torch.testing.assert_close(entropy.grad, column(-0.1, -0.05))  # once
    assert advantage.grad is None


def test_the_return_through_the_model() -> None:
    returns, entropy = column(3.0, -4.0, grad=True), column(0.5, 0.25, grad=True)
    weight = column(1.0, 0.5, grad=True)
    loss = dynamics_loss(returns=returns, entropy=entropy, weight=weight, ent_coef=0.1)
    torch.testing.assert_close(loss, column(-3.05, 1.9875))  # -1 * 3.05, -0.5 * -3.975
    loss.sum().backward()
    torch.testing.assert_close(returns.grad, column(-1.0, -0.5))
    torch.testing.assert_close(entropy.grad, column(-0.1, -0.05))
    assert weight.grad is None
