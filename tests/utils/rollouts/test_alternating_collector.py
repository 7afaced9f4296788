"""Two halves in turn against all environments at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers.rollouts import make_policy
from utils.environment import build_env
from utils.rollouts import Collector, RolloutBuffer
from utils.rollouts.alternating_collector import AlternatingCollector, why_not_alternating

CPU = torch.device("cpu")
N_ENVS, N_STEPS = 4, 40


class Part:
    """A vector environment that is stepped in two calls."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.has_sent = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def send(self, actions: np.ndarray) -> None:
        assert not self.has_sent
        self.has_sent, self.actions = True, actions.copy()

    def recv(self) -> tuple[Any, ...]:
        assert self.has_sent
        self.has_sent = False
        return self.env.step(self.actions)


class Whole(Part):
    """Becomes the sum of its parts once it is split."""

    def __init__(self) -> None:
        super().__init__(build_env("CartPole-v1", n_envs=N_ENVS, vectorization="sync"))

    def split(self, n_parts: int) -> tuple[Part, ...]:
        n = N_ENVS // n_parts
        self.parts = tuple(
            Part(build_env("CartPole-v1", n_envs=n, vectorization="sync")) for _ in range(n_parts)
        )
        return self.parts

    def reset(self, *, seed: int) -> tuple[np.ndarray, dict[str, Any]]:
        n = N_ENVS // len(self.parts)
        rows = [part.reset(seed=seed + k * n)[0] for k, part in enumerate(self.parts)]
        return np.concatenate(rows), {}

    def get_state(self) -> dict[str, Any]:
        return {"parts": [part.get_state() for part in self.parts]}

    def set_state(self, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        rows = [part.set_state(own) for part, own in zip(self.parts, state["parts"], strict=True)]
        return np.concatenate([r[0] for r in rows]), np.concatenate([r[1] for r in rows])


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Any:
    policy = make_policy()
    act = policy.act
    # Greedy: random numbers are drawn in another order for halves.
    monkeypatch.setattr(
        policy,
        "act",
        lambda observation, **kwargs: act(observation, **kwargs | {"deterministic": True}),
    )
    return policy


def make_buffer(policy: Any) -> RolloutBuffer:
    return RolloutBuffer(
        n_steps=N_STEPS,
        n_envs=N_ENVS,
        observation_space=policy.encoder.space,
        distribution=policy.distribution,
    )


def make_collector(policy: Any) -> AlternatingCollector:
    return AlternatingCollector(Whole(), policy, device=CPU, generator=torch.Generator())


def assert_equal_rollouts(ours: RolloutBuffer, theirs: RolloutBuffer) -> None:
    for name in ("observation", "action", "reward", "terminated", "truncated"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
    for name in ("logprob", "value", "next_value"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name))


def test_halves_in_turn_store_what_all_at_once_store(policy):
    ours = make_collector(policy)
    theirs = Collector(
        build_env("CartPole-v1", n_envs=N_ENVS, vectorization="sync"),
        policy,
        device=CPU,
        generator=torch.Generator(),
    )
    buffers = make_buffer(policy), make_buffer(policy)
    ours.reset(seed=5)
    theirs.reset(seed=5)
    for _ in range(3):
        summaries = (
            ours.collect(buffers[0], n_steps=N_STEPS),
            theirs.collect(buffers[1], n_steps=N_STEPS),
        )
        assert_equal_rollouts(*buffers)
        assert summaries[0].n_episodes == summaries[1].n_episodes > 0
        assert sorted(summaries[0].episode_returns) == sorted(summaries[1].episode_returns)
        assert summaries[0].n_timesteps == N_ENVS * N_STEPS
    assert ours.stepper.n_vec_steps == 3 * N_STEPS


def test_a_restored_collector_goes_on_as_the_uninterrupted_one(policy):
    whole, resumed = make_collector(policy), make_collector(policy)
    buffers = make_buffer(policy), make_buffer(policy)
    whole.reset(seed=5)
    whole.collect(buffers[0], n_steps=N_STEPS)
    assert resumed.load_state_dict(whole.state_dict()) == 0
    assert resumed.has_started
    summaries = [
        collector.collect(buffer, n_steps=N_STEPS)
        for collector, buffer in zip((whole, resumed), buffers, strict=True)
    ]
    assert_equal_rollouts(*buffers)
    assert summaries[0] == summaries[1]


def test_what_cannot_be_halved_is_named(policy):
    env = Whole()
    assert why_not_alternating(env, policy, normalizes_reward=False) is None
    assert "rewards" in why_not_alternating(env, policy, normalizes_reward=True)
    plain = build_env("CartPole-v1", n_envs=N_ENVS, vectorization="sync")
    assert "split" in why_not_alternating(plain, policy, normalizes_reward=False)
    rolling = make_policy(normalize_obs="rolling")
    assert "moments" in why_not_alternating(env, rolling, normalizes_reward=False)


def test_columns_share_the_memory_of_the_buffer(policy):
    buffer = make_buffer(policy)
    buffer.begin(2)
    half = buffer.columns(1, 3)
    half.write_observation(1, torch.full((2, 4), 7.0))
    half.write_reward(1, np.array([1.0, 2.0]))
    half.write_ends(1, np.array([True, False]), np.array([False, True]))
    half.next_value[0] = torch.tensor([3.0, 4.0])
    assert buffer.observation[1, :, 0].tolist() == [0.0, 7.0, 7.0, 0.0]
    assert buffer.reward[1].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert buffer.done[1].tolist() == [False, True, True, False]
    assert buffer.next_value[0].tolist() == [0.0, 3.0, 4.0, 0.0]
