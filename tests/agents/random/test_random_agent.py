from __future__ import annotations

import pytest

from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.saved_states import state_differences
from utils.metrics import Counters


def make(env_id: str, **changes):
    settings = {
        "algo_id": "random",
        "policy_kwargs": {},
        "policy_lr": 0.0,
        "max_timesteps": 1000,
        "steps_per_epoch": 20,
    }
    return make_agent(env_id, **(settings | changes))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_it_plays_whatever_there_is(env_id: str) -> None:
    agent = make(env_id)
    train_epochs(agent, 2)
    assert agent.counters.timesteps == 80
    assert agent.counters.updates == 0


def test_it_counts_and_reports_like_any_other() -> None:
    agent = make("Counting", env_kwargs={"length": 5})
    rows = train_epochs(agent, 2)
    assert agent.counters == Counters(epoch=2, timesteps=80, vec_steps=40, updates=0, episodes=16)
    assert rows[-1]["train/roll/ep_rew_mean"] == 5.0
    assert agent.evaluate().mean == 5.0


def test_its_stream_is_saved() -> None:
    agent = make("CartPole-v1")
    train_epochs(agent, 1)
    state = agent.checkpoint_state()
    train_epochs(agent, 1)
    resumed = make("CartPole-v1")
    resumed.load_checkpoint_state(state)
    train_epochs(resumed, 1)
    assert state_differences(resumed.checkpoint_state(), agent.checkpoint_state()) == []


def test_its_floor_of_cart_pole_is_known() -> None:
    agent = make("CartPole-v1", eval_episodes=400, eval_n_envs=20)
    # About 22 steps, with a deviation of 12 over the episodes.
    assert agent.evaluate().mean == pytest.approx(22.2, abs=2.0)
