from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.q_learning.q_learning_compiled import learn_step
from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.saved_states import state_differences
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.errors import ConfigError


def make(env_id: str, **changes):
    settings = {
        "algo_id": "q_learning",
        "policy_kwargs": {},
        "policy_lr": 0.1,
        "max_timesteps": 100_000,
        "steps_per_epoch": 500,
    }
    return make_agent(env_id, **(settings | changes))


def learn(q, state, action, reward, following, terminated, *, allowed=None, gamma=0.5, lr=0.1):
    table = (np.array(q, dtype=np.float64), np.zeros(np.shape(q), dtype=np.int64))
    transitions = (
        np.array(state),
        np.array(action),
        np.array(reward, dtype=np.float64),
        np.array(following),
        np.array(terminated),
    )
    if allowed is None:
        allowed = np.zeros((0, table[0].shape[1]), dtype=bool)
    total = learn_step(table, transitions, np.array(allowed), gamma, lr)
    return table, total


def test_a_value_moves_towards_reward_and_best_next_value() -> None:
    (q, visits), total = learn([[1.0, 2.0], [4.0, 8.0]], [0], [1], [1.0], [1], [False])
    # Target 1 + 0.5 * 8 = 5, error 3: 2 + 0.1 * 3.
    np.testing.assert_allclose(q, [[1.0, 2.3], [4.0, 8.0]])
    assert visits.tolist() == [[0, 1], [0, 0]]
    assert total == pytest.approx(3.0)


def test_an_end_has_no_next_value() -> None:
    (q, _), total = learn([[1.0, 2.0], [4.0, 8.0]], [0], [1], [1.0], [1], [True])
    # Target 1, error -1.
    np.testing.assert_allclose(q[0], [1.0, 1.9])
    assert total == pytest.approx(1.0)


def test_only_allowed_actions_of_the_next_state_count() -> None:
    (q, _), _ = learn(
        [[1.0, 2.0], [4.0, 8.0]], [0], [1], [1.0], [1], [False], allowed=[[True, False]]
    )
    # Target 1 + 0.5 * 4 = 3, error 1.
    np.testing.assert_allclose(q[0], [1.0, 2.1])


def test_environments_of_one_step_learn_one_after_another() -> None:
    (q, visits), _ = learn([[0.0], [0.0]], [0, 0], [0, 0], [1.0, 1.0], [1, 0], [True, False])
    # 0.1, then a target of 1 + 0.5 * 0.1 = 1.05: 0.1 + 0.1 * 0.95 = 0.195.
    np.testing.assert_allclose(q[0], [0.195])
    assert visits[0].tolist() == [2]


def test_truncation_is_no_end() -> None:
    """An endless walk that pays 1 is worth 1 / (1 - gamma) wherever its episodes are cut."""
    truncated = make("Identity", env_kwargs={"n": 1}, gamma=0.5, epsilon=1.0)
    train_epochs(truncated, 2)
    q = float(truncated.policy.q[0, 0])
    # Identity's episodes of 10 end: nine steps in ten are worth 1 + q / 2, one 1.
    assert q == pytest.approx(1 + 0.9 * 0.5 * q, rel=0.1)


def test_a_truncated_state_is_worth_what_it_allows() -> None:
    agent = make(
        "tests.helpers.masked_envs:Gate-v0", action_masks=True, gamma=0.5, initial_value=10.0
    )
    train_epochs(agent, 1)
    # 1 + 0.5 q = q; the forbidden action keeps its 10, from which nothing is learnt.
    assert agent.policy.q[0].tolist() == pytest.approx([2.0, 10.0])


def test_it_learns_the_identity_with_any_first_action() -> None:
    agent = make("Identity", env_kwargs={"n": 4, "start": 5}, gamma=0.0)
    rows = train_epochs(agent, 4)
    assert agent.policy.q.argmax(dim=1).tolist() == [0, 1, 2, 3]
    assert agent.evaluate().mean == 10.0
    assert rows[-1]["train/q_learning/visited_fraction"] == 1.0
    assert agent.counters.updates == agent.counters.timesteps == 4000


@pytest.mark.parametrize("n_envs", [1, 4])
def test_taxi_keeps_to_its_masks(n_envs: int) -> None:
    agent = make("Taxi-v4", n_envs=n_envs, eval_n_envs=1, action_masks=True, steps_per_epoch=200)
    train_epochs(agent, 2)
    assert agent.policy.q.shape == (500, 6)
    tried = agent.policy.n_visits > 0
    # Of the states where no passenger waits under the taxi, none has seen a wrong pick-up.
    assert 0 < int(tried.sum()) < 500 * 6


def test_a_saved_state_goes_on_bit_for_bit(tmp_path) -> None:
    agent = make("FrozenLake-v1")
    train_epochs(agent, 2)
    save_checkpoint(tmp_path / "a.ckpt", agent.checkpoint_state())
    train_epochs(agent, 2)
    resumed = make("FrozenLake-v1")
    assert resumed.load_checkpoint_state(load_checkpoint(tmp_path / "a.ckpt")) == 0
    train_epochs(resumed, 2)
    assert state_differences(resumed.checkpoint_state(), agent.checkpoint_state()) == []
    assert torch.equal(resumed.policy.q, agent.policy.q)


def test_a_run_ends_at_its_last_vector_step() -> None:
    agent = make("FrozenLake-v1", max_timesteps=1300)
    train_epochs(agent, 2)
    assert agent.counters.timesteps == 1300
    assert agent.end_reason == "max_timesteps reached"


def test_states_that_cannot_be_counted_are_refused() -> None:
    with pytest.raises(ConfigError, match="a row for each state"):
        make("CartPole-v1")
