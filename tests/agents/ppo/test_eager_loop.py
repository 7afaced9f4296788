"""The eager loop against the ordinary collector and update, and its own promises."""

import copy
import logging
import math

import pytest
import torch

from agents.base_agent import hyperparameters_at
from tests.helpers.agents import make_agent, train_epochs
from utils.dataloaders import UpdateBatch
from utils.device_rollouts import EpisodeWindow, shuffled_passes
from utils.errors import DivergedError

SETTINGS = {
    "vectorization": "torch",
    "n_envs": 6,
    "n_steps": 20,
    "batch_size": 30,
    "n_epochs": 3,
    "max_timesteps": 10_000,
    "max_episode_steps": 30,
    "policy_kwargs": {"hidden_dims": [16, 16]},
}


def make_pair(env_id="CartPole-v1", **changes):
    """Two agents with equal weights on equal environments: one with the loop, one without."""
    looped = make_agent(env_id, **SETTINGS | changes)
    ordinary = make_agent(env_id, **SETTINGS | changes | {"normalize_reward": True})
    ordinary.source.collector.reward_normalizer = None
    assert looped.device_loop.name == "eager"
    assert ordinary.device_loop is None
    for agent in (looped, ordinary):
        agent.source.reset(seed=1)
    return looped, ordinary


def env_major(table, n_steps, n_envs):
    """Translate indices of samples in order of time to those of environment after environment."""
    return (table % n_envs) * n_steps + table // n_envs


@pytest.mark.parametrize(
    ("env_id", "changes"),
    [
        ("CartPole-v1", {}),
        ("CartPole-v1", {"ent_coef": 0.01, "clip_range_vf": 0.3, "max_grad_norm": None}),
        ("CartPole-v1", {"normalize_advantages": "rollout", "gamma": 0.9, "gae_lambda": 0.8}),
        ("CartPole-v1", {"policy_kwargs": {"hidden_dims": [16], "share_trunk": True}}),
        ("CartPole-v1", {"policy_kwargs": {"hidden_dims": [16], "activation": "elu"}}),
        ("Acrobot-v1", {"normalize_obs": "static"}),
        ("Pendulum-v1", {"normalize_obs": "rolling", "ent_coef": 0.01}),
        ("MountainCarContinuous-v0", {"optimizer": "RMSprop"}),
    ],
)
def test_an_iteration_is_the_ordinary_rollout_and_update(env_id, changes):
    looped, ordinary = make_pair(env_id, **changes)
    iteration = looped.device_loop.iteration
    order = copy.deepcopy(iteration.order_generator.get_state())
    report = looped.device_loop.run(1, looped.hyperparameters)

    ordinary.collect_rollout()
    generator = torch.Generator()
    generator.set_state(order)
    config = looped.config
    table = shuffled_passes(
        120, n_passes=3, batch_size=config.resolved_batch_size, generator=generator
    )
    ordinary.update_from(UpdateBatch("update", env_major(table, 20, 6), ordinary.source.buffer))
    for (name, ours), theirs in zip(
        looped.policy.named_parameters(), ordinary.policy.parameters(), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=2e-4, atol=2e-6, msg=name)
    metrics = ordinary.recorder.flush()
    window = EpisodeWindow()
    window.add(report.episodes)
    counted = {"train/roll/n_episodes": report.episodes.n_episodes}
    compared = {**counted, **window.metrics(), **report.metrics}
    assert compared.keys() == metrics.keys() - {"train/time/rollout_seconds"} - {
        "train/time/update_seconds"
    }
    for key, value in compared.items():
        assert value == pytest.approx(metrics[key], rel=1e-3, abs=1e-5), key
    assert report.n_timesteps == ordinary.counters.timesteps == 120
    assert report.n_updates == ordinary.counters.updates == 12
    assert report.episodes.n_episodes == ordinary.counters.episodes


def test_a_run_of_several_iterations_reports_means_over_them():
    one, many = (make_agent("CartPole-v1", **SETTINGS) for _ in range(2))
    for agent in (one, many):
        agent.source.reset(seed=1)
    singles = [one.device_loop.run(1, one.hyperparameters) for _ in range(3)]
    together = many.device_loop.run(3, many.hyperparameters)
    episodes = [report.episodes for report in singles]
    assert together.episodes.n_episodes == sum(e.n_episodes for e in episodes) > 0
    assert together.episodes.return_sum == sum(e.return_sum for e in episodes)
    assert together.episodes.return_min == min(e.return_min for e in episodes)
    assert together.n_vec_steps == 60
    for key, value in together.metrics.items():
        mean = sum(report.metrics[key] for report in singles) / 3
        assert value == pytest.approx(mean, rel=1e-9), key
    for ours, theirs in zip(one.policy.parameters(), many.policy.parameters(), strict=True):
        assert ours.equal(theirs)


def test_scalars_on_the_device_train_what_numbers_train():
    numbers, scalars = (
        make_agent("CartPole-v1", **SETTINGS, ent_coef=0.01, clip_range_vf=0.5) for _ in range(2)
    )
    for agent in (numbers, scalars):
        agent.source.reset(seed=1)
        values = dict(agent.hyperparameters)
        if agent is scalars:
            values = {name: torch.tensor(value) for name, value in values.items()}
        agent.device_loop.iteration.carry_out(values)
    for ours, theirs in zip(numbers.policy.parameters(), scalars.policy.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("changes", [{}, {"normalize_obs": "rolling"}, {"ent_coef": "lin_0.02"}])
def test_a_resumed_run_goes_on_bit_for_bit(changes):
    whole = make_agent("CartPole-v1", **SETTINGS, **changes)
    train_epochs(whole, 2)
    state = copy.deepcopy(whole.checkpoint_state())
    expected = train_epochs(whole, 3)
    resumed = make_agent("CartPole-v1", **SETTINGS, **changes)
    assert resumed.load_checkpoint_state(state) == 0
    rows = train_epochs(resumed, 3)
    for row, other in zip(rows, expected, strict=True):
        for key in row.keys() - {"train/time/update_seconds"}:
            assert row[key] == other[key], key
    for ours, theirs in zip(whole.policy.parameters(), resumed.policy.parameters(), strict=True):
        assert ours.equal(theirs)


def test_the_state_of_another_loop_begins_new_numbers():
    agent = make_agent("CartPole-v1", **SETTINGS)
    generator = agent.device_loop.iteration.action_generator
    before = generator.get_state()
    agent.counters.vec_steps = 40
    agent.device_loop.load_state_dict({"iteration": 2})
    assert not generator.get_state().equal(before)


def test_an_update_ends_where_the_policy_leaves_the_trust_region():
    agent = make_agent("CartPole-v1", **SETTINGS, target_kl=1e-7, policy_lr=0.1)
    (row,) = train_epochs(agent, 1)
    assert agent.counters.updates == 1
    assert row["train/ppo/kl_stopped"] == 1.0
    assert math.isfinite(row["train/loss/value"])


def test_what_the_loops_cannot_do_is_left_to_collector_and_update():
    agent = make_agent("CartPole-v1", **SETTINGS, normalize_reward=True)
    assert agent.device_loop is None
    assert agent.path.endswith("because normalize_reward is set")
    (row,) = train_epochs(agent, 1)
    assert row["train/cnt/timesteps"] == 120.0


def test_the_choice_says_why_it_is_not_a_faster_one(caplog):
    agent = make_agent("CartPole-v1", **SETTINGS)
    with caplog.at_level(logging.INFO, logger="gymnasium_solver"):
        agent.on_fit_start()
    assert "eager on the device, not fused because" in caplog.text
    assert "not a CUDA graph because device is cpu" in caplog.text


def test_evaluation_leaves_the_training_episodes_alone():
    alone, judged = (make_agent("CartPole-v1", **SETTINGS) for _ in range(2))
    train_epochs(alone, 2)
    train_epochs(judged, 1)
    judged.evaluate()
    train_epochs(judged, 1)
    for ours, theirs in zip(alone.policy.parameters(), judged.policy.parameters(), strict=True):
        assert ours.equal(theirs)


@pytest.mark.slow
def test_cart_pole_is_learnt():
    agent = make_agent(
        "CartPole-v1",
        vectorization="torch",
        n_envs=64,
        n_steps=32,
        batch_size=512,
        n_epochs=10,
        max_timesteps=200_000,
        policy_lr="lin_0.003",
        gae_lambda=0.9,
        gamma=0.98,
        policy_kwargs={"hidden_dims": [64, 64]},
        rollouts_per_epoch=7,
        eval_episodes=50,
        eval_n_envs=50,
    )
    agent.hyperparameters |= hyperparameters_at(agent.config, timesteps=0)
    while agent.counters.timesteps < agent.config.max_timesteps:
        train_epochs(agent, 1)
    assert agent.evaluate().mean >= 475.0


def test_the_reward_scale_reaches_the_learner_and_no_reported_return():
    agent = make_agent("CartPole-v1", **SETTINGS | {"reward_scale": 0.25})
    (row,) = train_epochs(agent, 1)
    assert agent.device_loop.iteration.buffer.reward.eq(0.25).all()
    assert row["train/roll/learner_reward_mean"] == pytest.approx(0.25)
    assert row["train/roll/ep_rew_mean"] == row["train/roll/ep_len_mean"]


def test_training_episodes_are_told_over_the_last_hundred_not_over_an_epochs():
    agent = make_agent("CartPole-v1", **SETTINGS | {"max_episode_steps": 500, "policy_lr": 1e-9})
    rows = train_epochs(agent, 60)
    assert agent.counters.episodes > 200
    told = [row for row in rows[-20:] if "train/roll/ep_rew_mean" in row]
    assert len(told) > 5
    # Single epochs end 0 to a few episodes here, of 9 to 60 steps; a hundred have a steady mean.
    means = [row["train/roll/ep_rew_mean"] for row in told]
    assert max(means) - min(means) < 6.0
    assert all(row["train/roll/ep_rew_min"] < 14 for row in told)


def test_a_loss_that_is_not_finite_is_named_before_what_it_spoils():
    agent = make_agent("CartPole-v1", **SETTINGS | {"policy_lr": 1e30, "rollouts_per_epoch": 3})
    with pytest.raises(DivergedError, match="train/loss/"):
        train_epochs(agent, 2)
