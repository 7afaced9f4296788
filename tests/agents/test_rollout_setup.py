from __future__ import annotations

import torch

from tests.helpers.agents import make_agent, train_epochs


def test_the_policy_draws_from_a_generator_of_its_own():
    first, second = make_agent("CartPole-v1"), make_agent("CartPole-v1")
    torch.manual_seed(1)
    train_epochs(first, 1)
    torch.manual_seed(2)
    train_epochs(second, 1)
    assert first.source.buffer.action.equal(second.source.buffer.action)
    assert not make_agent("CartPole-v1", seed=1).policy.actor_head.weight.equal(
        make_agent("CartPole-v1").policy.actor_head.weight
    )


def test_the_learner_is_paid_normalised_rewards_only_if_asked():
    plain = make_agent("Counting", env_kwargs={"length": 3})
    train_epochs(plain, 1)
    assert plain.source.collector.reward_normalizer is None
    assert plain.source.buffer.reward.eq(1.0).all()
    scaled = make_agent(
        "Counting", env_kwargs={"length": 3}, normalize_reward=True, clip_reward=0.25
    )
    (row,) = train_epochs(scaled, 1)
    assert scaled.source.buffer.reward.max() == 0.25
    assert row["train/roll/ep_rew_mean"] == 3.0
    assert row["train/roll/learner_reward_mean"] <= 0.25
