from __future__ import annotations

import numpy as np
import pytest

from gym_envs.bandits.settings import BanditSettings
from gym_envs.bandits.table import BanditTable, observation_space


def make(n: int = 1, **settings: object) -> BanditTable:
    table = BanditTable(BanditSettings(**settings), n)
    table.begin(np.arange(n), np.arange(n, dtype=np.uint64) + np.uint64(7))
    return table


def arms(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_regret_is_what_the_best_arm_would_have_paid_more() -> None:
    table = make(2, n_arms=3)
    table.means[:] = [[[0.2, 0.9, 0.5]], [[0.4, 0.1, 0.4]]]
    for pulled in (arms(0, 0), arms(1, 2), arms(2, 1)):
        table.pull(pulled)
    # first: (0.9 - 0.2) + 0 + (0.9 - 0.5) = 1.1, one of three the best;
    # second: 0 + 0 + (0.4 - 0.1) = 0.3, two of three (both 0.4 are best)
    assert table.regret == pytest.approx([1.1, 0.3])
    metrics = table.episode_metrics()
    assert metrics["regret"] == pytest.approx([1.1, 0.3])
    assert metrics["optimal_share"] == pytest.approx([1 / 3, 2 / 3])


def test_statistics_show_means_uncertainty_and_time() -> None:
    table = make(n_arms=2, horizon=8)
    table.means[:] = [[[1.0, 0.0]]]  # certain to pay, certain not to
    for pulled in (0, 0, 0, 1):
        table.pull(arms(pulled))
    # three pulls: 1 / sqrt(4); one pull: 1 / sqrt(2); 4 of 8 steps
    expected = [1.0, 0.0, 0.5, 2**-0.5, 0.5]
    np.testing.assert_allclose(table.observe()[0], expected, rtol=1e-6)


def test_arms_may_be_shown_and_pulled_from_the_best_mean_downwards() -> None:
    table = make(n_arms=3, horizon=8, rewards="gaussian", noise_std=1e-9, arm_order="mean")
    table.means[:] = [[[-1.0, 5.0, 2.0]]]
    # equals in the order of their numbers: arm 0 pays -1, so it is shown last from now on
    assert table.pull(arms(0))[0] == pytest.approx(-1.0)
    assert table.observe()[0, :3] == pytest.approx([0.0, 0.0, -1.0])
    # the second of those shown is arm 2
    assert table.pull(arms(1))[0] == pytest.approx(2.0)
    expected = [2.0, 0.0, -1.0, 2**-0.5, 1.0, 2**-0.5, 0.25]
    np.testing.assert_allclose(table.observe()[0], expected, rtol=1e-6)
    assert table.pull(arms(1))[0] == pytest.approx(5.0)
    assert table.last_arm.tolist() == [1]
    assert table.regret == pytest.approx([6.0 + 3.0 + 0.0])


def test_the_last_arm_and_what_it_paid() -> None:
    table = make(n_arms=3, horizon=4, observation="last")
    assert table.observe()[0].tolist() == [0, 0, 0, 0, 0]
    table.means[:] = 1.0
    table.pull(arms(2))
    assert table.observe()[0].tolist() == [0, 0, 1, 1, 0.25]


def test_nothing_is_a_constant() -> None:
    table = make(n_arms=3, observation="none")
    table.pull(arms(1))
    assert table.observe().tolist() == [[1.0]]


def test_the_context_is_shown_and_has_arms_of_its_own() -> None:
    table = make(500, n_arms=2, n_contexts=3)
    table.means[:] = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    seen = table.context.copy()
    shown = table.observe()[:, -3:]
    assert (shown.argmax(axis=1) == seen).all()
    assert (shown.sum(axis=1) == 1).all()
    reward = table.pull(np.zeros(500, np.int64))
    assert (reward == (seen != 0)).all()
    assert (table.regret == (seen == 0)).all()
    # uniform: each has about 167 of 500; five deviations of sqrt(500 * 2/9) = 10.5
    assert (abs(np.bincount(seen, minlength=3) - 500 / 3) < 53).all()
    assert (table.context != seen).any()


def test_means_and_rewards_come_from_the_distributions() -> None:
    table = make(4000, rewards="gaussian", n_arms=5, mean_std=2.0, noise_std=0.5)
    assert abs(table.means.mean()) < 0.08  # 20,000 draws: 5 * 2 / sqrt(2e4) = 0.07
    assert table.means.std() == pytest.approx(2.0, abs=0.05)
    noise = table.pull(np.zeros(4000, np.int64)) - table.means[:, 0, 0]
    assert abs(noise.mean()) < 0.04
    assert noise.std() == pytest.approx(0.5, abs=0.03)
    table = make(4000, n_arms=5)
    assert table.means.mean() == pytest.approx(0.5, abs=0.012)
    paid = table.pull(np.zeros(4000, np.int64))
    assert set(paid.tolist()) == {0.0, 1.0}
    assert np.corrcoef(paid, table.means[:, 0, 0])[0, 1] == pytest.approx(3**-0.5, abs=0.07)


def test_means_drift_by_independent_steps() -> None:
    table = make(2000, rewards="gaussian", n_arms=4, drift_std=0.1)
    before = table.means.copy()
    for _ in range(25):
        table.pull(np.zeros(2000, np.int64))
    moved = (table.means - before)[:, 0]
    assert moved.std() == pytest.approx(0.5, abs=0.02)  # 0.1 * sqrt(25)
    correlation = np.corrcoef(moved.T) - np.eye(4)
    assert abs(correlation).max() < 0.12
    steady = make(1, rewards="gaussian")
    before = steady.means.copy()
    steady.pull(arms(0))
    assert (steady.means == before).all()


def test_an_episode_depends_on_its_key_and_the_arms_alone() -> None:
    settings = {"rewards": "gaussian", "n_arms": 4, "n_contexts": 2, "drift_std": 0.1}
    many, one = make(5, **settings), BanditTable(BanditSettings(**settings), 1)
    one.begin(np.array([0]), many.keys[3:4])
    for t in range(10):
        reward = many.pull(np.full(5, t % 4))
        assert one.pull(arms(t % 4))[0] == reward[3]
    assert (one.observe()[0] == many.observe()[3]).all()


def test_rows_begin_alone() -> None:
    table = make(3, n_arms=2)
    table.pull(arms(0, 1, 0))
    before = table.observe()
    table.begin(np.array([1]), np.array([99], np.uint64))
    after = table.observe()
    assert (after[[0, 2]] == before[[0, 2]]).all()
    assert after[1].tolist() == [0, 0, 1, 1, 0]
    assert table.time.tolist() == [1, 0, 1]


@pytest.mark.parametrize("observation", ["none", "last", "statistics"])
@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("n_contexts", [1, 3])
def test_what_is_shown_lies_in_the_space(observation: str, rewards: str, n_contexts: int) -> None:
    table = make(
        20, n_arms=3, horizon=12, observation=observation, rewards=rewards, n_contexts=n_contexts
    )
    space = observation_space(table.settings)
    for t in range(12):
        assert all(row in space for row in table.observe())
        assert not table.is_over().any()
        table.pull(np.full(20, t % 3))
    assert all(row in space for row in table.observe())
    assert table.is_over().all()
