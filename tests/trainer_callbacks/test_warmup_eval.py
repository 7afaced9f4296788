import dataclasses
import math

import pytest

from tests.helpers.fake_agent import FakeAgent, FakeConfig
from trainer_callbacks.warmup_eval import WarmupEval, first_evaluation_epoch


def evaluated(config, *, n_epochs, n_steps=100, resume_at=None, max_timesteps=10**6):
    agent = FakeAgent(dataclasses.replace(config, max_timesteps=max_timesteps))
    agent.callbacks = [WarmupEval(reward_threshold=None)]
    agent.start()
    for epoch in range(n_epochs):
        if epoch == resume_at:
            agent.callbacks = [WarmupEval(reward_threshold=None)]
            agent.start()
        agent.train_epoch(n_steps=n_steps)
    return agent.evaluated_epochs


def test_first_evaluation_after_the_warm_up_at_a_multiple():
    config = FakeConfig(eval_warmup_epochs=50, eval_freq_epochs=15)
    assert evaluated(config, n_epochs=100) == [60, 75, 90]
    assert evaluated(FakeConfig(eval_warmup_epochs=60, eval_freq_epochs=15), n_epochs=61) == [60]
    assert evaluated(FakeConfig(eval_freq_epochs=2), n_epochs=5) == [2, 4]


def test_period_in_timesteps_does_not_stretch_with_the_number_of_environments():
    # 5 environments of 100 steps: 500 timesteps an epoch, 60 epochs, an evaluation each 3,000.
    config = FakeConfig(eval_freq_timesteps=3000, eval_warmup_epochs=50)
    assert evaluated(config, n_epochs=60, n_steps=500) == list(range(6, 61, 6))


@pytest.mark.parametrize("resume_at", [None, 1, 2, 3, 4])
def test_period_that_is_no_multiple_of_the_rollout_also_over_a_resume(resume_at):
    # Crossed: 1000 in epoch 2 (1,400), 2000 in 3 (2,100), 3000 in 5 (3,500).
    config = FakeConfig(eval_freq_timesteps=1000)
    assert evaluated(config, n_epochs=5, n_steps=700, resume_at=resume_at) == [2, 3, 5]


def test_rollout_longer_than_the_period_evaluates_once_per_epoch():
    assert evaluated(FakeConfig(eval_freq_timesteps=10), n_epochs=3) == [1, 2, 3]


def test_no_period_no_evaluation():
    assert evaluated(FakeConfig(), n_epochs=5) == []


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({"eval_warmup_epochs": 50, "eval_freq_epochs": 15}, 60),
        ({"eval_freq_epochs": 15}, 15),
        ({"eval_warmup_epochs": 3, "eval_freq_epochs": 3}, 3),
        ({"eval_freq_timesteps": 250}, 3),
        ({}, math.inf),
    ],
)
def test_forecast_agrees_with_what_happens(settings, first):
    config = FakeConfig(**settings)
    assert first_evaluation_epoch(config, timesteps_per_epoch=100) == first
    assert (evaluated(config, n_epochs=70) or [math.inf])[0] == first


@pytest.mark.parametrize(("n_epochs", "epochs"), [(7, [4, 7]), (8, [4, 8])])
def test_the_epoch_that_spends_the_budget_is_evaluated_and_only_once(n_epochs, epochs):
    config = FakeConfig(eval_freq_epochs=4)
    assert evaluated(config, n_epochs=n_epochs, max_timesteps=100 * n_epochs) == epochs


@pytest.mark.parametrize(
    ("n_episodes", "mean", "epochs"), [(100, 9.0, [1]), (99, 9.0, []), (100, 8.9, [])]
)
def test_the_epoch_in_which_training_reaches_the_goal_is_evaluated(n_episodes, mean, epochs):
    agent = FakeAgent(FakeConfig(eval_freq_epochs=4, early_stop_on_train_reward=True))
    agent.counters.episodes = n_episodes
    agent.callbacks = [WarmupEval(reward_threshold=9.0)]
    agent.start()
    agent.train_epoch(train__roll__ep_rew_mean=mean)
    assert agent.evaluated_epochs == epochs
