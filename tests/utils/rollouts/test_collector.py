from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.counting_policy import CountingPolicy, encode_rows
from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.normalization import RewardNormalizer
from utils.returns import generalized_advantage
from utils.rollouts import Collector, RolloutBuffer

CPU = torch.device("cpu")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(
    env: CountingVectorEnv,
    policy: Any,
    *,
    n_steps: int,
    reward_normalizer: RewardNormalizer | None = None,
    seed: int = 0,
) -> tuple[Collector, RolloutBuffer]:
    collector = Collector(
        env,
        policy,
        device=CPU,
        generator=seeded(seed),
        reward_normalizer=reward_normalizer,
    )
    collector.reset(seed=11)
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    return collector, buffer


def numbers(buffer: RolloutBuffer) -> Tensor:
    return torch.stack([encode_rows(buffer.observation_at(t)) for t in range(buffer.n_steps)])


def expected_numbers(length: int, env_index: int, n_steps: int) -> list[int]:
    return [encode(env_index, t // length, t % length) for t in range(n_steps)]


@pytest.mark.parametrize("as_dict", [False, True])
def test_no_step_is_lost_or_reordered_over_rollouts(as_dict: bool) -> None:
    env = CountingVectorEnv(
        [3, 5], ends=["truncated", "terminated"], reward=encode, as_dict=as_dict
    )
    policy = CountingPolicy()
    collector, buffer = build(env, policy, n_steps=7)
    seen, ends = [], []
    for _ in range(2):
        collector.collect(buffer, n_steps=7)
        shown = numbers(buffer)
        # Each column belongs to the observation of its own row.
        assert torch.equal(buffer.action, shown.long())
        assert torch.equal(buffer.reward, shown)
        assert torch.equal(buffer.logprob, -shown / 7)
        assert torch.equal(buffer.value, shown / 2)
        seen.append(shown)
        ends.append((buffer.terminated.clone(), buffer.truncated.clone()))
    shown = torch.cat(seen)
    assert shown[:, 0].tolist() == expected_numbers(3, 0, 14)
    assert shown[:, 1].tolist() == expected_numbers(5, 1, 14)
    assert torch.equal(shown, torch.stack(policy.seen))
    np.testing.assert_array_equal(np.stack(env.actions), shown.long().numpy())
    terminated, truncated = (torch.cat(parts) for parts in zip(*ends, strict=True))
    assert truncated[:, 0].nonzero().flatten().tolist() == [2, 5, 8, 11]
    assert terminated[:, 1].nonzero().flatten().tolist() == [4, 9]
    assert not truncated[:, 1].any()
    assert not terminated[:, 0].any()
    assert env.seeds == [11]


def test_next_values_are_those_of_the_final_observation_where_truncated() -> None:
    env = CountingVectorEnv([3, 3, None], ends=["truncated", "terminated", "truncated"])
    collector, buffer = build(env, CountingPolicy(), n_steps=6)
    collector.collect(buffer, n_steps=6)
    # half of the number of the observation that each step led to
    assert buffer.next_value[:, 2].tolist() == [encode(2, 0, t) / 2 for t in range(1, 7)]
    # env 0: steps 1, 2, final 3 of episode 0, then of episode 1, where the last row is an end too
    assert buffer.next_value[:, 0].tolist() == [0.5, 1, 1.5, 5.5, 6, 6.5]
    # env 1 terminates: what comes after it is cut elsewhere, inside an episode it is the next row's
    assert buffer.next_value[[0, 1, 3, 4], 1].tolist() == [50.5, 51, 55.5, 56]


class SteadyCritic(CountingPolicy):
    """Values everything at 10."""

    def predict_value(self, observation: Any, *, state: Any = None) -> Tensor:
        return torch.full_like(super().predict_value(observation), 10.0)


def test_a_time_limit_is_no_end_to_the_advantage() -> None:
    env = CountingVectorEnv([3, None, 3], ends=["truncated", "truncated", "terminated"])
    collector, buffer = build(env, SteadyCritic(), n_steps=3)
    collector.collect(buffer, n_steps=3)
    advantage, returns = generalized_advantage(
        reward=buffer.reward,
        value=buffer.value,
        next_value=buffer.next_value,
        terminated=buffer.terminated,
        done=buffer.done,
        gamma=0.9,
        gae_lambda=1.0,
    )
    # reward 1: 1 + 0.9 * 10 - 10 = 0 at each step that goes on or is cut off
    torch.testing.assert_close(advantage[:, :2], torch.zeros(3, 2), rtol=0, atol=1e-6)
    torch.testing.assert_close(returns[:, :2], torch.full((3, 2), 10.0))
    # terminated: 1 - 10 = -9, 0 - 0.9 * 9 = -8.1, 0 - 0.9 * 8.1 = -7.29
    torch.testing.assert_close(advantage[:, 2], torch.tensor([-7.29, -8.1, -9.0]))


def test_no_value_is_asked_for_without_a_critic() -> None:
    env = CountingVectorEnv([3, 3], ends=["truncated", "terminated"])
    collector, buffer = build(env, CountingPolicy(has_critic=False), n_steps=4)
    buffer.next_value.fill_(9)
    collector.collect(buffer, n_steps=4)
    assert (buffer.next_value == 0).all()


def test_stored_rows_do_not_follow_the_environments_arrays() -> None:
    env = CountingVectorEnv([None])
    collector, buffer = build(env, CountingPolicy(), n_steps=5)
    collector.collect(buffer, n_steps=5)
    for _ in range(3):
        env.step(np.zeros(1, dtype=np.int64))
    assert numbers(buffer).flatten().tolist() == [0, 1, 2, 3, 4]


def test_summary_counts_steps_and_whole_episodes() -> None:
    env = CountingVectorEnv([3, None], reward=lambda env_index, episode, step: episode + 1.0)
    collector, buffer = build(env, CountingPolicy(), n_steps=4)
    first = collector.collect(buffer, n_steps=2)
    assert (first.n_timesteps, first.n_vec_steps, first.n_episodes) == (4, 2, 0)
    assert first.episode_returns == first.last_returns == []
    second = collector.collect(buffer, n_steps=4)
    assert (second.n_timesteps, second.n_vec_steps, second.n_episodes) == (8, 4, 2)
    # 3 * 1 and 3 * 2; the episode began in the rollout before
    assert second.last_returns == [3.0, 6.0]
    third = collector.collect(buffer, n_steps=3)
    assert third.last_returns == [9.0]
    assert third.episode_returns == [3.0, 6.0, 9.0]
    assert third.episode_lengths == [3, 3, 3]


def test_the_same_generator_collects_the_same_rollout() -> None:
    def collect(seed: int) -> Tensor:
        env = CountingVectorEnv([4, 7])
        collector, buffer = build(env, build_linear_policy(env), n_steps=30, seed=seed)
        before = torch.get_rng_state()
        collector.collect(buffer, n_steps=30)
        assert torch.equal(torch.get_rng_state(), before)
        return buffer.action

    assert torch.equal(collect(1), collect(1))
    assert not torch.equal(collect(1), collect(2))


def test_continuous_actions_are_stored_as_drawn_and_clipped_for_the_environment() -> None:
    env = CountingVectorEnv([4, 7], action_space=gym.spaces.Box(-1, 1, (2,)))
    policy = build_linear_policy(env, log_std_init=1.0)
    collector, buffer = build(env, policy, n_steps=20)
    collector.collect(buffer, n_steps=20)
    stored = buffer.action.numpy()
    assert (np.abs(stored) > 1).any()
    np.testing.assert_array_equal(np.stack(env.actions), np.clip(stored, -1, 1))
    evaluation = policy.evaluate_actions(
        buffer.observation.flatten(0, 1), buffer.action.flatten(0, 1)
    )
    ratio = (evaluation.logprob - buffer.logprob.flatten()).exp()
    torch.testing.assert_close(ratio, torch.ones(40), rtol=1e-5, atol=0)


def test_discrete_actions_are_stored_from_zero_and_sent_from_their_start() -> None:
    env = CountingVectorEnv([4, 7], action_space=gym.spaces.Discrete(3, start=-1))
    collector, buffer = build(env, build_linear_policy(env), n_steps=20)
    collector.collect(buffer, n_steps=20)
    assert set(buffer.action.unique().tolist()) == {0, 1, 2}
    np.testing.assert_array_equal(np.stack(env.actions), buffer.action.numpy() - 1)


def test_the_buffer_holds_what_the_policy_saw() -> None:
    env = CountingVectorEnv([4, 7], ends=["truncated", "terminated"])
    policy = build_linear_policy(env, normalize_obs="rolling")
    collector, buffer = build(env, policy, n_steps=12)
    collector.collect(buffer, n_steps=12)
    rows = np.array(
        [[(0, t // 4, t % 4), (1, t // 7, t % 7)] for t in range(12)],
        dtype=np.float64,
    )
    for t in range(12):
        so_far = rows[: t + 1].reshape(-1, 3)
        expected = (rows[t] - so_far.mean(0)) / np.sqrt(so_far.var(0) + 1e-8)
        np.testing.assert_allclose(buffer.observation[t], expected, rtol=1e-4, atol=1e-5)
    assert policy.normalizer.moments.count.item() == 24
    evaluation = policy.evaluate_actions(buffer.observation.flatten(0, 1), buffer.action.flatten())
    torch.testing.assert_close(evaluation.logprob, buffer.logprob.flatten())


def test_the_learner_is_paid_normalised_rewards_and_statistics_are_raw() -> None:
    env = CountingVectorEnv([3, 5], reward=lambda env_index, episode, step: 10.0 * step - env_index)
    normalizer = RewardNormalizer(2, gamma=0.9, limit=5.0)
    collector, buffer = build(env, CountingPolicy(), n_steps=8, reward_normalizer=normalizer)
    summary = collector.collect(buffer, n_steps=8)
    reference = RewardNormalizer(2, gamma=0.9, limit=5.0)
    for t in range(8):
        reward = np.array([10.0 * (t % 3), 10.0 * (t % 5) - 1])
        reference.update(reward, np.array([t % 3 == 2, t % 5 == 4]))
        np.testing.assert_allclose(buffer.reward[t], reference.apply_to(reward), rtol=1e-6)
    # 0 + 10 + 20, twice, and -1 + 9 + 19 + 29 + 39
    assert sorted(summary.last_returns) == [30.0, 30.0, 95.0]
