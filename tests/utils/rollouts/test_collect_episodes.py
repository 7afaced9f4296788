from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from tests.helpers.counting_policy import CountingPolicy, encode_rows
from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.normalization import RewardNormalizer
from utils.rollouts import Collector, RolloutBuffer

CPU = torch.device("cpu")


def build(
    env: CountingVectorEnv,
    capacity: int,
    *,
    policy: object | None = None,
    reward_normalizer: RewardNormalizer | None = None,
) -> tuple[Collector, RolloutBuffer]:
    policy = policy or CountingPolicy()
    collector = Collector(
        env,
        policy,
        device=CPU,
        generator=torch.Generator().manual_seed(0),
        reward_normalizer=reward_normalizer,
    )
    collector.reset(seed=1)
    buffer = RolloutBuffer(
        n_steps=capacity,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    return collector, buffer


def finish(buffer: RolloutBuffer) -> list[float]:
    zeros = torch.zeros(buffer.n_steps, buffer.n_envs)
    buffer.finish(advantage=zeros, returns=zeros, device=CPU)
    return encode_rows(buffer.samples.observation).tolist()


def test_every_environment_gives_the_same_number_of_whole_episodes() -> None:
    env = CountingVectorEnv([2, 5], ends=["truncated", "terminated"])
    collector, buffer = build(env, capacity=12)
    summary = collector.collect_episodes(buffer, n_episodes=2)
    assert buffer.n_steps == 10
    assert buffer.rows(buffer.is_valid)[:, 0].tolist() == [True] * 4 + [False] * 6
    assert buffer.rows(buffer.is_valid)[:, 1].all()
    # The first reset is that of collector.reset(); episodes of the rollout are 1 and 2.
    assert finish(buffer) == [
        *(encode(0, episode, step) for episode in (1, 2) for step in range(2)),
        *(encode(1, episode, step) for episode in (1, 2) for step in range(5)),
    ]
    assert summary.n_episodes == 4
    assert sorted(summary.last_returns) == [2.0, 2.0, 5.0, 5.0]


def test_short_episodes_are_not_counted_more_often() -> None:
    env = CountingVectorEnv([1, 50])
    collector, buffer = build(env, capacity=100)
    for _ in range(2):
        summary = collector.collect_episodes(buffer, n_episodes=2)
    # Environment 0 ended 100 episodes in each rollout; two of them count.
    assert sorted(summary.last_returns) == [1.0, 1.0, 50.0, 50.0]
    assert sorted(summary.episode_returns) == [1.0] * 4 + [50.0] * 4
    assert sorted(summary.episode_lengths) == [1] * 4 + [50] * 4
    assert (summary.n_vec_steps, summary.n_timesteps) == (100, 200)


def test_every_rollout_begins_with_new_episodes_and_no_new_seed() -> None:
    env = CountingVectorEnv([2, 5])
    collector, buffer = build(env, capacity=5)
    collector.collect_episodes(buffer, n_episodes=1)
    collector.collect_episodes(buffer, n_episodes=1)
    # env 0: episode 1, then two and a half while it waited, then a new one
    assert encode_rows(buffer.observation[0]).tolist() == [encode(0, 4, 0), encode(1, 3, 0)]
    assert env.seeds == [1, None, None]


def test_truncated_episodes_end_with_the_value_of_their_final_observation() -> None:
    env = CountingVectorEnv([2, 4], ends=["truncated", "truncated"])
    collector, buffer = build(env, capacity=4)
    collector.collect_episodes(buffer, n_episodes=1)
    assert buffer.next_value[1, 0].item() == encode(0, 1, 2) / 2
    assert buffer.next_value[3, 1].item() == encode(1, 1, 4) / 2


def test_running_discounted_returns_begin_anew() -> None:
    env = CountingVectorEnv([3, 3], reward=lambda env_index, episode, step: 2.0)
    normalizer = RewardNormalizer(2, gamma=0.5, limit=10.0)
    collector, buffer = build(env, capacity=3, reward_normalizer=normalizer)
    normalizer.running_return.fill_(1000.0)
    collector.collect_episodes(buffer, n_episodes=1)
    # 2, 3, 3.5 in both environments
    assert normalizer.moments.mean.item() == pytest.approx(17 / 6)


def test_a_buffer_that_is_too_short_is_named() -> None:
    collector, buffer = build(CountingVectorEnv([2, 5]), capacity=4)
    with pytest.raises(AssertionError, match="4"):
        collector.collect_episodes(buffer, n_episodes=1)


def test_saved_state_goes_on_as_if_it_had_never_stopped() -> None:
    def start() -> tuple[CountingVectorEnv, Collector, RolloutBuffer]:
        env = CountingVectorEnv([4, 7], reward=encode)
        normalizer = RewardNormalizer(2, gamma=0.9, limit=5.0)
        policy = build_linear_policy(env)
        return (env, *build(env, 10, policy=policy, reward_normalizer=normalizer))

    _, collector, buffer = start()
    collector.collect(buffer, n_steps=10)
    state = copy.deepcopy(collector.state_dict())  # as a file would hold it
    straight = collector.collect(buffer, n_steps=10)
    _, other, restored = start()
    assert other.load_state_dict(state) == 0
    resumed = other.collect(restored, n_steps=10)
    assert resumed == straight
    assert other.stepper.n_vec_steps == collector.stepper.n_vec_steps == 20
    for field in ("observation", "action", "reward", "value", "next_value", "terminated"):
        assert torch.equal(getattr(restored, field), getattr(buffer, field)), field


def test_an_environment_that_cannot_be_restored_begins_a_new_episode() -> None:
    env = CountingVectorEnv([None, 10])
    normalizer = RewardNormalizer(2, gamma=1.0, limit=5.0)
    collector, buffer = build(env, 9, reward_normalizer=normalizer)
    collector.collect(buffer, n_steps=6)
    state = collector.state_dict()
    env.cannot_restore = [1]
    assert collector.load_state_dict(state) == 1
    assert normalizer.running_return.tolist() == [6.0, 0.0]
    summary = collector.collect(buffer, n_steps=4)
    assert encode_rows(buffer.observation[0]).tolist() == [encode(0, 0, 6), encode(1, 1, 0)]
    assert summary.last_returns == []
    # The abandoned steps are in no episode: 4 + 6 make the new one.
    assert collector.collect(buffer, n_steps=6).last_returns == [10.0]
    np.testing.assert_array_equal(collector.stepper.tracker.state_dict()["lengths"], [16, 0])
