import pytest

from tests.helpers.fake_agent import FakeAgent, FakeConfig
from trainer_callbacks.early_stopping import EarlyStopping
from utils.errors import ConfigError


def make_agent(*, threshold=None, **settings):
    agent = FakeAgent(FakeConfig(**{"max_timesteps": 10_000, **settings}))
    agent.callbacks = [EarlyStopping(reward_threshold=threshold)]
    agent.start()
    return agent


def training_row(mean, n_episodes):
    return {"train__roll__ep_rew_mean": mean, "train__roll__n_episodes": n_episodes}


def test_stops_in_the_epoch_that_spends_the_budget():
    agent = make_agent(max_timesteps=250)
    agent.train_epoch()
    agent.train_epoch()
    assert agent.stop_reasons == []
    agent.train_epoch()
    assert agent.stop_reasons == ["max_timesteps reached"]


def test_evaluation_at_the_threshold_stops():
    agent = make_agent(threshold=475.0, early_stop_on_eval_reward=True)
    agent.train_epoch(val__roll__ep_rew_mean=474.9)
    agent.train_epoch(train__roll__ep_rew_mean=500.0, train__roll__n_episodes=1000.0)
    agent.train_epoch()
    assert agent.stop_reasons == []
    agent.train_epoch(val__roll__ep_rew_mean=475.0)
    assert agent.stop_reasons == ["mean return in evaluation 475.00 reached the threshold 475"]


def test_training_needs_a_hundred_episodes_not_a_lucky_one():
    agent = make_agent(threshold=400.0, early_stop_on_train_reward=True)
    agent.counters.episodes = 99
    agent.train_epoch(**training_row(500.0, 1))
    assert agent.stop_reasons == []
    agent.counters.episodes = 100
    agent.train_epoch()
    agent.train_epoch(**training_row(399.9, 1))
    assert agent.stop_reasons == []
    agent.train_epoch(**training_row(450.0, 1))
    assert agent.stop_reasons == ["mean return in training 450.00 reached the threshold 400"]


def test_negative_threshold_is_not_reached_without_an_evaluation():
    agent = make_agent(threshold=-100.0, early_stop_on_eval_reward=True)
    agent.train_epoch()
    assert agent.stop_reasons == []


def test_rewards_do_not_stop_a_run_that_did_not_ask():
    agent = make_agent(threshold=1.0)
    agent.train_epoch(val__roll__ep_rew_mean=500.0, **training_row(500.0, 1000))
    assert agent.stop_reasons == []


def test_goal_without_threshold_is_a_config_error():
    with pytest.raises(ConfigError, match="set reward_threshold"):
        make_agent(threshold=None, early_stop_on_train_reward=True)
