from __future__ import annotations

import numpy as np
import pytest
import torch

from utils.rollouts.epsilon_greedy import EpsilonGreedy
from utils.schedules import ScheduleSpec, schedule_value


def build(epsilon=lambda timesteps: 0.0, *, n_actions: int = 4, seed: int = 7) -> EpsilonGreedy:
    def best(observation, mask):
        return observation[:, 0].long().numpy()

    return EpsilonGreedy(best, epsilon=epsilon, n_actions=n_actions, seed=seed)


OBSERVATION = torch.tensor([[3.0], [1.0]])


def test_without_epsilon_the_best_action_is_taken() -> None:
    decision = build().decide(OBSERVATION, mask=None, timesteps=0)
    assert decision.action.tolist() == decision.stored.tolist() == [3, 1]
    assert decision.action.dtype == torch.int64


def test_random_actions_are_even_and_the_share_is_epsilon() -> None:
    explorer = build(lambda timesteps: 0.5, n_actions=4)
    observation = torch.full((100_000, 1), 9.0)  # no action of the four
    action = explorer.decide(observation, mask=None, timesteps=0).action
    share = (action != 9).double().mean()
    assert share == pytest.approx(0.5, abs=0.006)  # four standard deviations of 0.0016
    counts = torch.bincount(action[action != 9], minlength=4).double() / 50_000
    np.testing.assert_allclose(counts, 0.25, atol=0.01)


def test_a_warm_up_is_the_same_again_with_the_same_seed() -> None:
    first, second, other = build(seed=7), build(seed=7), build(seed=8)
    draws = [[e.draw(3, mask=None).action.tolist() for _ in range(100)] for e in (first, second)]
    assert draws[0] == draws[1]
    assert draws[0] != [other.draw(3, mask=None).action.tolist() for _ in range(100)]
    assert {a for row in draws[0] for a in row} == {0, 1, 2, 3}


def test_a_saved_stream_goes_on() -> None:
    explorer = build(lambda timesteps: 0.5)
    explorer.draw(2, mask=None)
    other = build(lambda timesteps: 0.5, seed=99)
    other.load_state_dict(explorer.state_dict())
    rows = [[e.draw(2, mask=None).action.tolist() for _ in range(9)] for e in (explorer, other)]
    assert rows[0] == rows[1]


def test_the_stream_does_not_depend_on_epsilon() -> None:
    explorers = [build(lambda timesteps: 0.0), build(lambda timesteps: 0.9)]
    for explorer in explorers:
        explorer.decide(OBSERVATION, mask=None, timesteps=0)
    assert explorers[0].draw(5, mask=None).action.tolist() == (
        explorers[1].draw(5, mask=None).action.tolist()
    )


def test_random_actions_keep_to_the_mask() -> None:
    mask = torch.tensor([[False, True, False, True], [False, False, True, False]])
    explorer = build()
    drawn = np.array([explorer.draw(2, mask=mask).action.tolist() for _ in range(400)])
    assert set(drawn[:, 0]) == {1, 3}
    assert set(drawn[:, 1]) == {2}
    assert (drawn[:, 0] == 1).mean() == pytest.approx(0.5, abs=0.1)


def test_a_schedule_of_no_length_ends_at_once() -> None:
    """A run of 5 timesteps with a tenth of it for exploring."""
    spec = ScheduleSpec(start=1.0, end=0.0, to=0.1)
    explorer = build(lambda t: schedule_value(spec, timesteps=t, max_timesteps=5))
    for timesteps in range(1, 5):
        decision = explorer.decide(OBSERVATION, mask=None, timesteps=timesteps)
        assert decision.action.tolist() == [3, 1]
