from __future__ import annotations

import copy

import torch

from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv
from utils.dataloaders import RolloutSource
from utils.rollouts import Collector, RolloutBuffer


def build() -> RolloutSource:
    env = CountingVectorEnv([3, 5])
    policy = build_linear_policy(env)
    collector = Collector(
        env, policy, device=torch.device("cpu"), generator=torch.Generator().manual_seed(0)
    )
    collector.reset(seed=1)
    buffer = RolloutBuffer(
        n_steps=4,
        n_envs=2,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
    return RolloutSource(
        collector,
        buffer,
        collect=lambda collector, buffer: collector.collect(buffer, n_steps=4),
        batch_size=lambda: 4,
        n_passes=2,
        seed=9,
    )


def update(source: RolloutSource) -> list[torch.Tensor]:
    """Collect one rollout, walk its minibatches and return what they held."""
    source.collect()
    reward = source.buffer.reward
    source.finish(advantage=reward, returns=reward)
    (batch,) = list(source.loader)
    return [field for minibatch in batch.minibatches() for field in minibatch]


def test_collection_happens_when_it_is_asked_for_and_only_then() -> None:
    source = build()
    env = source.collector.env
    assert len(env.actions) == 0
    update(source)
    assert len(env.actions) == 4
    list(source.loader)
    assert len(env.actions) == 4
    update(source)
    assert len(env.actions) == 8


def test_a_restored_source_goes_on_with_the_same_minibatches() -> None:
    source, restored = build(), build()
    update(source)
    state = copy.deepcopy(source.state_dict())
    expected = update(source)
    assert restored.load_state_dict(state) == 0
    assert all(torch.equal(a, b) for a, b in zip(update(restored)[:6], expected[:6], strict=True))
    # It is the order that was restored too, not a rollout alone.
    assert not all(
        torch.equal(a, b) for a, b in zip(update(restored)[:6], expected[:6], strict=True)
    )


def test_environments_that_could_not_be_restored_are_counted() -> None:
    source = build()
    update(source)
    state = source.state_dict()
    source.collector.env.cannot_restore = [0]
    assert source.load_state_dict(state) == 1
