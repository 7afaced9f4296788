"""The bonus stream: advantages by hand over episode ends, updates, saved state."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from agents.ppo.exploration.exploration import Exploration, ExplorationSettings, masked_mean
from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.policies import build_linear_policy
from tests.helpers.space_envs import ACTIONS
from tests.helpers.vector_envs import CountingVectorEnv
from utils.exploration.novelty import Novelty, Transition
from utils.exploration.whitening import Whitening
from utils.returns import generalized_advantage
from utils.rollouts import RolloutBuffer
from utils.rollouts.recording_collector import RecordingCollector
from utils.rollouts.transitions import TransitionRecord

CPU = torch.device("cpu")
SPACES = "tests.helpers.space_envs:Drawn-v0"
BOTH = pytest.mark.parametrize("kind", ["rnd", "icm"])


class StepNovelty(Novelty):
    """The bonus is the step number of the observation that was reached; nothing is learnt."""

    def __init__(self, space: gym.Space) -> None:
        super().__init__()
        self.whitening = Whitening(space, limit=5.0, n_frames=1)
        self.unused = nn.Parameter(torch.ones(()))

    def bonus(self, transition: Transition) -> Tensor:
        return transition.next_observation[:, 2]

    def losses(self, transition: Transition) -> dict[str, Tensor]:
        return {"novelty_loss": self.unused * transition.next_observation[:, 2]}


class StepCritic(nn.Module):
    """V is ten times the step number."""

    def __init__(self) -> None:
        super().__init__()
        self.ten = nn.Parameter(torch.tensor(10.0))

    def forward(self, observation: Tensor) -> Tensor:
        return self.ten * observation[:, 2]


def make_exploration(
    env: CountingVectorEnv, *, n_steps: int, episodic: bool, **changes: Any
) -> Exploration:
    space = env.single_observation_space
    settings = {
        "gamma": 0.5,
        "episodic": episodic,
        "learning_rate": 1e-2,
        "update_proportion": 1.0,
        "n_epochs": 1,
        "batch_size": 4,
    }
    exploration = Exploration(
        StepNovelty(space),
        StepCritic(),  # type: ignore[arg-type]
        TransitionRecord(n_steps=n_steps, n_envs=env.num_envs, observation_space=space),
        ExplorationSettings(**(settings | changes)),
        n_envs=env.num_envs,
        device=CPU,
        seed=0,
    )
    # A scale of 1: one sample of variance 1.
    exploration.scale.moments.count.fill_(1e18)
    return exploration


def collect(env: CountingVectorEnv, exploration: Exploration, *, n_steps: int) -> RolloutBuffer:
    policy = build_linear_policy(env)
    generator = torch.Generator().manual_seed(0)
    collector = RecordingCollector(
        env, policy, record=exploration.record, device=CPU, generator=generator
    )
    collector.reset(seed=0)
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    collector.collect(buffer, n_steps=n_steps)
    return buffer


def advantage_of(*, episodic: bool, end: str) -> list[float]:
    """Three steps with trace decay 0.5; the episode ends with the second."""
    env = CountingVectorEnv((2,), ends=(end,))
    exploration = make_exploration(env, n_steps=3, episodic=episodic)
    buffer = collect(env, exploration, n_steps=3)
    advantage, _ = exploration.compute_advantage(buffer, build_linear_policy(env), gae_lambda=0.5)
    return advantage[:, 0].tolist()


# Steps seen 0, 1, 0; bonuses for steps reached 1, 2 (final) and 1; V 0, 10, 0; V after all 10.
# gamma 0.5, trace decay 0.25, delta[2] = 1 + 5 - 0 = 6 each time.


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_the_return_of_the_bonus_goes_on_in_the_next_episode(end: str) -> None:
    # delta[1] = 2 + 0.5 * V(first of the next episode) 0 - 10 = -8; delta[0] = 1 + 5 - 0 = 6
    # advantage: 6, -8 + 0.25 * 6 = -6.5, 6 - 0.25 * 6.5 = 4.375
    assert advantage_of(episodic=False, end=end) == pytest.approx([4.375, -6.5, 6.0], abs=1e-5)


def test_an_episodic_return_ends_where_the_episode_terminates() -> None:
    # delta[1] = 2 - 10 = -8 and no trace: -8; 6 - 0.25 * 8 = 4
    found = advantage_of(episodic=True, end="terminated")
    assert found == pytest.approx([4.0, -8.0, 6.0], abs=1e-5)


def test_an_episodic_return_is_bootstrapped_where_the_episode_is_truncated() -> None:
    # delta[1] = 2 + 0.5 * V(final, step 2) 20 - 10 = 2 and no trace: 2; 6 + 0.25 * 2 = 6.5
    found = advantage_of(episodic=True, end="truncated")
    assert found == pytest.approx([6.5, 2.0, 6.0], abs=1e-5)


def test_the_intrinsic_critic_learns_its_returns() -> None:
    env = CountingVectorEnv((2, 3))
    exploration = make_exploration(env, n_steps=4, episodic=True, batch_size=8)
    buffer = collect(env, exploration, n_steps=4)
    policy = build_linear_policy(env)
    _, metrics = exploration.compute_advantage(buffer, policy, gae_lambda=1.0)
    learnt = exploration.learn(value_lr=0.5, max_grad_norm=None)
    # Adam's first step is the learning rate against the sign of the gradient: V is too large.
    assert exploration.critic.ten.item() == pytest.approx(9.5, abs=1e-4)
    assert exploration.novelty.unused.item() == pytest.approx(0.99, abs=1e-4)
    steps = [1, 2, 1, 2, 1, 2, 3, 1]
    assert metrics["train/explore/bonus_mean"] == pytest.approx(sum(steps) / 8)
    assert metrics["train/explore/bonus_max"] == 3.0
    assert learnt["train/explore/novelty_loss"] == pytest.approx(sum(steps) / 8)


def test_gradients_of_bonus_and_critic_are_clipped_apart() -> None:
    env = CountingVectorEnv((2, 3))
    exploration = make_exploration(env, n_steps=4, episodic=True, batch_size=8)
    for optimizer in (exploration._novelty_optimizer, exploration._critic_optimizer):
        optimizer.param_groups[0]["eps"] = 1.0  # so that the size of a gradient shows
    policy = build_linear_policy(env)
    exploration.compute_advantage(collect(env, exploration, n_steps=4), policy, gae_lambda=1.0)
    exploration.learn(value_lr=1.0, max_grad_norm=0.25)
    # Both gradients are longer than 0.25: Adam steps by lr * g / (|g| + eps) = 0.25 / 1.25
    assert 10.0 - exploration.critic.ten.item() == pytest.approx(0.2, abs=1e-4)
    assert 1.0 - exploration.novelty.unused.item() == pytest.approx(0.002, abs=1e-5)


def test_a_share_of_the_samples_is_learnt_from() -> None:
    assert masked_mean(torch.tensor([1.0, 5.0]), torch.tensor([0.0, 1.0])).item() == 5.0
    assert masked_mean(torch.tensor([1.0, 5.0]), torch.zeros(2)).item() == 0.0
    env = CountingVectorEnv((2,))
    exploration = make_exploration(env, n_steps=2, episodic=True, update_proportion=0.25)
    chosen = exploration._choose(10_000).mean().item()
    assert chosen == pytest.approx(0.25, abs=0.02)


@BOTH
def test_advantages_are_weighed(kind: str) -> None:
    exploration = {"kind": kind, "coef": 3.0, "extrinsic_coef": 0.5}
    agent = make_agent("CartPole-v1", exploration=exploration, vectorization="sync")
    train_epochs(agent, 1)
    agent.source.collect()
    buffer = agent.source.buffer
    state = agent.exploration.state_dict()
    state = {
        k: {n: x.clone() for n, x in v.items()} if k == "scale" else v for k, v in state.items()
    }
    mean = {n: x.clone() for n, x in agent.exploration.novelty.state_dict().items()}
    combined, returns = agent.compute_targets(buffer)
    agent.exploration.scale.load_state_dict(state["scale"])
    agent.exploration.novelty.load_state_dict(mean)
    of_bonus, _ = agent.exploration.compute_advantage(buffer, agent.policy, gae_lambda=0.95)
    plain, plain_returns = generalized_advantage(
        reward=buffer.reward,
        value=buffer.value,
        next_value=buffer.next_value,
        terminated=buffer.terminated,
        done=buffer.done,
        gamma=0.99,
        gae_lambda=0.95,
    )
    torch.testing.assert_close(combined, 0.5 * plain + 3.0 * of_bonus)
    torch.testing.assert_close(returns, plain_returns)
    agent.close()


@pytest.mark.parametrize("sees", ["box", "discrete", "dict", "picture", "multi_binary"])
@BOTH
def test_every_kind_of_observation(kind: str, sees: str) -> None:
    agent = make_agent(SPACES, exploration={"kind": kind}, env_kwargs={"sees": sees})
    (row,) = train_epochs(agent, 1)
    assert row["train/explore/reward_mean"] > 0
    assert all(np.isfinite(value) for value in row.values())
    agent.close()


@pytest.mark.parametrize("acts", ACTIONS)
@BOTH
def test_every_kind_of_action(kind: str, acts: str) -> None:
    agent = make_agent(SPACES, exploration={"kind": kind}, env_kwargs={"acts": acts})
    (row,) = train_epochs(agent, 1)
    assert row["train/explore/novelty_loss"] > 0
    agent.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"policy_kwargs": {"hidden_dims": [8], "memory": "gru"}, "batch_size": 8},
        {"policy_kwargs": {"hidden_dims": [8], "memory": "lstm", "share_trunk": True}},
        {"vectorization": "async", "n_workers": 2},
    ],
    ids=["gru", "lstm", "processes"],
)
@pytest.mark.parametrize("value_normalization", ["none", "popart"])
def test_beside_a_memory_and_in_processes(changes, value_normalization: str) -> None:
    settings = {"exploration": {"kind": "rnd"}, "value_normalization": value_normalization}
    agent = make_agent("CartPole-v1", **(settings | {"vectorization": "sync"} | changes))
    row = train_epochs(agent, 2)[-1]
    assert row["train/explore/reward_mean"] > 0
    assert np.isfinite(row["train/loss/value"])
    agent.close()


def test_reported_returns_and_the_critic_know_nothing_of_the_bonus() -> None:
    """With weight 0 on nothing but the bonus's advantage the first rollout is that of plain PPO."""
    plain = make_agent("CartPole-v1", vectorization="sync")
    curious = make_agent("CartPole-v1", vectorization="sync", exploration={"kind": "rnd"})
    (one,), (two,) = train_epochs(plain, 1), train_epochs(curious, 1)
    for key in ("train/roll/n_episodes", "train/returns/mean", "train/roll/learner_reward_mean"):
        assert one[key] == two[key], key
    assert one["train/adv/mean"] != two["train/adv/mean"]
    plain.close()
    curious.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"exploration": {"kind": "rnd", "update_proportion": 0.5}},
        {"exploration": {"kind": "icm", "episodic": True}},
        {"value_normalization": "popart", "clip_range_vf": 0.2},
        {"value_normalization": "popart", "exploration": {"kind": "rnd"}},
    ],
)
def test_a_restored_agent_goes_on_as_if_it_had_not_stopped(changes: dict[str, Any]) -> None:
    settings = {"vectorization": "sync", "normalize_obs": "rolling"} | changes
    whole, first, second = (make_agent("CartPole-v1", **settings) for _ in range(3))
    expected = train_epochs(whole, 4)
    train_epochs(first, 2)
    second.load_checkpoint_state(first.checkpoint_state())
    found = train_epochs(second, 2)
    for key, value in expected[-1].items():
        if "/time/" not in key:
            assert found[-1][key] == value, key
    for name, tensor in whole.policy.state_dict().items():
        assert torch.equal(tensor, second.policy.state_dict()[name]), name
    for agent in (whole, first, second):
        agent.close()


def test_policies_start_from_the_same_weights_with_and_without() -> None:
    plain = make_agent("CartPole-v1")
    curious = make_agent("CartPole-v1", exploration={"kind": "icm"})
    for name, tensor in plain.policy.state_dict().items():
        assert torch.equal(tensor, curious.policy.state_dict()[name]), name
    plain.close()
    curious.close()
