"""PopArt in PPO: loss in normalised units, outputs that stay, equal learning at any scale."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from agents.ppo.device_loops import why_no_loop
from agents.ppo.fused.availability import find_unsupported
from agents.ppo.graph_loop import why_not_graph
from tests.helpers.agents import begin, make_agent, train_epochs
from utils.compiled.eligibility import why_not_compiled
from utils.rollouts import Minibatch

POPART = {"value_normalization": "popart"}
TRUNKS = pytest.mark.parametrize("share_trunk", [False, True])


def agent_with(**changes: Any):
    kwargs = {"hidden_dims": [8], "share_trunk": changes.pop("share_trunk", False)}
    return make_agent("CartPole-v1", policy_kwargs=kwargs, vectorization="sync", **changes)


@TRUNKS
@pytest.mark.parametrize("clip_range_vf", [None, 0.1])
def test_the_loss_is_in_deviations_of_the_returns(share_trunk: bool, clip_range_vf) -> None:
    agent = agent_with(share_trunk=share_trunk, **POPART, clip_range_vf=clip_range_vf)
    head = agent.policy.critic_head
    head.shift.fill_(100.0)
    head.scale.fill_(20.0)
    minibatch = Minibatch(
        observation=torch.zeros(2, 4),
        action=torch.zeros(2, dtype=torch.int64),
        old_logprob=torch.zeros(2),
        old_value=torch.tensor([90.0, 130.0]),
        advantage=torch.tensor([1.0, -1.0]),
        returns=torch.tensor([110.0, 120.0]),
    )
    loss = agent._value_loss(minibatch, torch.tensor([100.0, 110.0]))
    # In deviations: values 0 and 0.5, returns 0.5 and 1, old values -0.5 and 1.5.
    # Free: 0.25 and 0.25. Moved by at most 0.1 from the old ones: -0.4 and 1.4, errors 0.81, 0.16.
    expected = [0.25, 0.25] if clip_range_vf is None else [0.81, 0.25]
    assert loss.tolist() == pytest.approx(expected, abs=1e-5)
    agent.close()


@TRUNKS
def test_new_moments_change_no_value(share_trunk: bool) -> None:
    agent = agent_with(share_trunk=share_trunk, **POPART, exploration={"kind": "rnd"})
    train_epochs(agent, 2)
    observation = torch.randn(32, 4)
    before = agent.policy.predict_value(observation).detach()
    scale = agent.policy.critic_head.scale.clone()
    agent.policy.critic_head.update(1000.0 * torch.randn(64), beta=0.5)
    assert agent.policy.critic_head.scale > 10 * scale
    after = agent.policy.predict_value(observation)
    torch.testing.assert_close(after, before, rtol=1e-6, atol=1e-6 * agent.policy.critic_head.scale)
    agent.close()


def test_the_moments_take_in_each_rollout_once() -> None:
    agent = agent_with(**POPART, popart_beta=0.5)
    rows = train_epochs(agent, 2)
    first, second = (row["train/returns/mean"] for row in rows)
    # weights 1/2 and 1/4 of 3/4
    assert rows[0]["train/popart/mean"] == pytest.approx(first, rel=1e-5)
    assert rows[1]["train/popart/mean"] == pytest.approx((first + 2 * second) / 3, rel=1e-5)
    agent.close()


def test_an_update_begins_at_the_old_values_the_first_one_too() -> None:
    agent = make_agent("Counting", env_kwargs={"length": 50}, reward_scale=100.0, **POPART)
    begin(agent)
    for _ in range(2):
        agent.collect_rollout()
        samples = agent.source.buffer.samples
        with torch.no_grad():
            value = agent.policy.evaluate_actions(samples.observation, samples.action).value
        torch.testing.assert_close(value, samples.old_value, rtol=1e-4, atol=1e-3)
    agent.close()


def test_an_evaluation_leaves_the_moments() -> None:
    agent = agent_with(**POPART)
    train_epochs(agent, 1)
    before = {name: x.clone() for name, x in agent.policy.state_dict().items()}
    agent.evaluate(n_episodes=2)
    for name, tensor in agent.policy.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    agent.close()


def explained_variance_after_updates(*, reward_scale: float, value_normalization: str) -> float:
    """Learn 1 a step over five steps, times the scale, with a trunk that the actor shares."""
    agent = make_agent(
        "Counting",
        value_normalization=value_normalization,
        reward_scale=reward_scale,
        policy_lr=1e-2,
        n_epochs=4,
        policy_kwargs={"hidden_dims": [16], "share_trunk": True},
    )
    rows = train_epochs(agent, 10)
    agent.close()
    return rows[-1]["train/ppo/explained_variance"]


def test_returns_of_ten_thousands_are_learnt_like_small_ones() -> None:
    def learnt(reward_scale: float, value_normalization: str) -> float:
        return explained_variance_after_updates(
            reward_scale=reward_scale, value_normalization=value_normalization
        )

    assert learnt(1.0, "popart") > 0.95
    assert learnt(1e4, "popart") > 0.95
    assert learnt(1e4, "none") < 0.1  # ten thousand is a million steps of Adam away


def test_fast_paths_say_that_they_do_not_know_it() -> None:
    agent = make_agent("CartPole-v1", vectorization="torch", **POPART)
    named = "value_normalization is popart"
    assert why_not_compiled(agent.policy) == named
    assert find_unsupported(agent.policy, agent.config, agent.train_env) == named
    assert why_no_loop(agent) == named
    agent.compute_device = torch.device("cuda")  # asked as on a GPU
    assert why_not_graph(agent) == named
    assert agent.device_loop is None
    assert named in agent.path
    begin(agent)
    agent.close()


@pytest.mark.parametrize("kind", ["rnd", "icm"])
def test_fast_paths_know_no_bonus(kind: str) -> None:
    agent = make_agent("CartPole-v1", vectorization="torch", exploration={"kind": kind})
    named = f"exploration.kind is {kind}"
    assert find_unsupported(agent.policy, agent.config, agent.train_env) == named
    assert why_no_loop(agent) == named
    agent.compute_device = torch.device("cuda")
    assert why_not_graph(agent) == named
    agent.compute_device = torch.device("cpu")
    assert named in agent.path
    (row,) = train_epochs(agent, 1)
    assert row["train/explore/reward_mean"] > 0
    agent.close()


def test_rollouts_with_a_bonus_are_not_compiled_but_updates_are() -> None:
    agent = make_agent("CartPole-v1", vectorization="simd", exploration={"kind": "rnd"})
    assert agent.path == (
        "rollouts step by step (exploration reads what every step led to); compiled updates"
    )
    agent.close()
