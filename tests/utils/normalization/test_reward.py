from __future__ import annotations

import numpy as np
import pytest
import torch

from utils.normalization import RewardNormalizer

GAMMA = 0.9


def test_agrees_with_a_step_by_step_reference() -> None:
    rng = np.random.default_rng(0)
    normalizer = RewardNormalizer(3, gamma=GAMMA, limit=2.0)
    running = np.zeros(3)
    seen: list[float] = []
    for _ in range(60):
        reward, done = rng.normal(1.0, 4.0, size=3), rng.random(3) < 0.2
        running = GAMMA * running + reward
        seen += running.tolist()
        running = np.where(done, 0.0, running)
        normalizer.update(reward, done)
        expected = np.clip(reward / np.sqrt(np.var(seen) + 1e-8), -2.0, 2.0)
        np.testing.assert_allclose(normalizer.apply_to(reward), expected, rtol=1e-9)


def test_hand_computed_numbers() -> None:
    normalizer = RewardNormalizer(1, gamma=0.5, limit=10.0)
    normalizer.update(np.array([2.0]), np.array([False]))
    normalizer.update(np.array([4.0]), np.array([True]))
    normalizer.update(np.array([6.0]), np.array([False]))
    # returns 2;  0.5 * 2 + 4 = 5;  6 (a new episode): mean 13 / 3
    # variance (49 + 4 + 25) / 9 / 3 = 26 / 9, spread 1.699673; 3 over it
    assert normalizer.apply_to(np.array([3.0])).item() == pytest.approx(1.765045, rel=1e-6)


def test_the_mean_is_kept_so_that_signs_never_change() -> None:
    normalizer = RewardNormalizer(2, gamma=GAMMA, limit=10.0)
    for reward in ([5.0, 6.0], [5.5, 5.0], [7.0, 5.0]):
        normalizer.update(np.array(reward), np.zeros(2, dtype=bool))
    scaled = normalizer.apply_to(np.array([5.0, -1.0]))
    assert scaled[0] > 0 > scaled[1]
    assert scaled[0] / scaled[1] == pytest.approx(-5.0)


def test_clips_on_both_sides() -> None:
    normalizer = RewardNormalizer(2, gamma=GAMMA, limit=1.5)
    normalizer.update(np.array([1.0, -1.0]), np.zeros(2, dtype=bool))
    np.testing.assert_allclose(normalizer.apply_to(np.array([9.0, -9.0])), [1.5, -1.5])


def test_one_environments_end_leaves_the_others_running() -> None:
    normalizer = RewardNormalizer(2, gamma=0.5, limit=10.0)
    normalizer.update(np.array([2.0, 2.0]), np.array([True, False]))
    normalizer.update(np.array([1.0, 1.0]), np.array([False, False]))
    assert normalizer.running_return.tolist() == [1.0, 2.0]


def test_applying_does_not_learn_and_arguments_stay() -> None:
    normalizer = RewardNormalizer(2, gamma=GAMMA, limit=10.0)
    reward = np.array([1.0, -3.0])
    normalizer.update(reward, np.array([False, True]))
    before = {key: value.clone() for key, value in normalizer.state_dict().items()}
    normalizer.apply_to(reward)
    assert all(torch.equal(before[key], value) for key, value in normalizer.state_dict().items())
    assert reward.tolist() == [1.0, -3.0]


def test_state_holds_moments_count_and_running_returns() -> None:
    normalizer = RewardNormalizer(2, gamma=GAMMA, limit=10.0)
    for reward in ([1.0, -3.0], [2.0, 0.5], [0.0, 1.0]):
        normalizer.update(np.array(reward), np.array([False, False]))
    restored = RewardNormalizer(2, gamma=GAMMA, limit=10.0)
    restored.load_state_dict(normalizer.state_dict())
    for each in (normalizer, restored):
        each.update(np.array([4.0, 4.0]), np.array([False, False]))
    np.testing.assert_array_equal(
        restored.apply_to(np.array([1.0, 2.0])), normalizer.apply_to(np.array([1.0, 2.0]))
    )


def test_update_works_under_inference_mode() -> None:
    normalizer = RewardNormalizer(1, gamma=GAMMA, limit=10.0)
    with torch.inference_mode():
        normalizer.update(np.array([1.0]), np.array([False]))
    normalizer.update(np.array([3.0]), np.array([False]))
    assert normalizer.moments.count.item() == 2


def test_waiting_environments_enter_no_statistic() -> None:
    normalizer = RewardNormalizer(2, gamma=0.5, limit=10.0)
    is_counted = np.array([True, False])
    for reward in (1.0, 3.0):
        normalizer.update(np.array([reward, 100.0]), np.zeros(2, bool), is_counted=is_counted)
    # returns of environment 0: 1, then 0.5 * 1 + 3 = 3.5; mean 2.25, variance 1.25^2 = 1.5625
    assert normalizer.moments.count.item() == 2
    assert normalizer.moments.mean.item() == 2.25
    assert normalizer.moments.var.item() == 1.5625
