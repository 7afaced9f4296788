from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
import torch
from lightning.pytorch import Callback

from agents.sac.sac_agent import entropy_to_keep
from tests.helpers.agents import begin, make_agent, train_epochs
from tests.helpers.saved_states import state_differences
from trainer_callbacks import HyperparameterScheduler
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.errors import ConfigError
from utils.trainer_factory import build_trainer

SMALL = {
    "algo_id": "sac",
    "batch_size": 8,
    "learning_starts_timesteps": 16,
    "buffer_transitions": 128,
    "steps_per_epoch": 8,
}
SPACES = {
    "continuous": {"env_id": "Pendulum-v1"},
    "by the graph": {
        "env_id": "Pendulum-v1",
        "policy_kwargs": {"hidden_dims": [8], "activation": "silu"},
    },
    "lasting noise": {"env_id": "Pendulum-v1", "exploration_correlation": 0.8},
    "choices": {"env_id": "CartPole-v1"},
    "normalised": {"env_id": "Pendulum-v1", "normalize_obs": "rolling", "prioritized_replay": True},
}


def make(env_id: str, **changes):
    return make_agent(env_id, **(SMALL | changes))


@pytest.mark.parametrize("name", SPACES)
def test_a_saved_agent_goes_on_as_if_it_had_never_stopped(name, tmp_path) -> None:
    whole, stopped, resumed = (make(**SPACES[name]) for _ in range(3))
    train_epochs(whole, 4)
    train_epochs(stopped, 2)
    checkpoint = tmp_path / "epoch=02.ckpt"
    stopped.save_companions(checkpoint)
    save_checkpoint(checkpoint, stopped.checkpoint_state())
    resumed.load_companions(checkpoint)
    assert resumed.load_checkpoint_state(load_checkpoint(checkpoint)) == 0
    train_epochs(resumed, 2)
    assert state_differences(resumed.checkpoint_state(), whole.checkpoint_state()) == []
    assert whole.counters.updates > 40


@pytest.mark.parametrize("name", ["continuous", "by the graph", "choices"])
def test_lightning_trains_what_a_bare_loop_trains(name) -> None:
    class StopAfter(Callback):
        def on_train_epoch_end(self, trainer, pl_module):
            rows.append(pl_module.recorder.flush())
            if pl_module.counters.epoch == 4:
                pl_module.request_stop("enough")

    rows: list[dict[str, float]] = []
    bare, driven = make(**SPACES[name]), make(**SPACES[name])
    expected = train_epochs(bare, 4)
    build_trainer(device="cpu", callbacks=[HyperparameterScheduler(), StopAfter()]).fit(driven)
    assert state_differences(driven.checkpoint_state(), bare.checkpoint_state()) == []
    assert rows[-1]["train/grad/critic"] == expected[-1]["train/grad/critic"] > 0
    assert rows[-1]["train/grad/actor"] == expected[-1]["train/grad/actor"] > 0


def test_target_entropies() -> None:
    for shape, expected in (((1,), -1.0), ((6,), -6.0), ((2, 3), -6.0)):
        assert entropy_to_keep("auto", gym.spaces.Box(-1, 1, shape)) == expected
    assert entropy_to_keep("auto", gym.spaces.Discrete(4)) == pytest.approx(0.98 * math.log(4))
    assert entropy_to_keep(0.3, gym.spaces.Discrete(4)) == 0.3


def test_the_critics_learn_from_what_the_environment_was_given_in_units() -> None:
    agent = make("Pendulum-v1")
    begin(agent)
    agent.source.collector.collect(10, is_random=True, write=agent.source._write)
    batch = agent.source.sample()
    assert batch.action.shape == (8, 1)
    assert batch.action.abs().max() <= 1
    # Pendulum takes torques up to 2: what it was given was twice as large.
    agent.source.collector.collect(10, is_random=False, write=agent.source._write)
    assert agent.source.sample().action.abs().max() <= 1


@pytest.mark.filterwarnings("ignore:.*Casting input x to numpy array")
@pytest.mark.parametrize("algo_id", ["sac", "td3"])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_an_action_may_be_a_single_number(algo_id: str, activation: str) -> None:
    agent = make(
        "tests.helpers.space_envs:Drawn-v0",
        algo_id=algo_id,
        env_kwargs={"acts": "scalar"},
        policy_kwargs={"hidden_dims": [8], "activation": activation},
        max_timesteps=200,
    )
    train_epochs(agent, 3)
    assert agent.counters.updates == 32
    assert agent.source.sample().action.shape == (8,)


def test_an_update_moves_the_critics_towards_a_target_by_hand() -> None:
    agent = make("Pendulum-v1", ent_coef=0.5, batch_size=2, gamma=0.9, prioritized_replay=True)
    begin(agent)
    agent.source.collector.collect(10, is_random=True, write=agent.source._write)
    batch = agent.prepare(agent.source.sample(beta=0.4))
    assert batch.weight.tolist() == [1, 1]  # all that is new is of equal priority
    noise = agent.noise_generator.get_state()
    value = agent.next_value(batch, torch.tensor(0.5))
    agent.noise_generator.set_state(noise)
    action, logprob = agent.policy.sample(batch.next_observation, agent.draw_noise(2))
    q = agent.target(batch.next_observation, action)
    torch.testing.assert_close(value, torch.minimum(q[0], q[1]) - 0.5 * logprob)
    agent.noise_generator.set_state(noise)
    before = agent.q_of_batch(batch).detach()
    target = batch.reward + batch.discount * value
    learned = agent.learn(batch)
    expected = 0.5 * (before - target).square().sum(dim=0).mean()
    torch.testing.assert_close(learned.metrics["train/loss/critic"], expected)
    torch.testing.assert_close(learned.error, (before - target).abs().mean(dim=0))
    after = agent.q_of_batch(batch).detach()
    assert (after - target).square().sum() < (before - target).square().sum()


def test_torchs_step_in_the_memory_of_compiled_updates_is_the_same_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agents = []
    for is_compiled in (True, False):
        if not is_compiled:
            monkeypatch.setattr("agents.sac.sac_compiled.why_not_compiled", lambda *_: "not asked")
        agent = make("Pendulum-v1", policy_kwargs={"hidden_dims": [7, 9]})
        assert (agent.compiled is not None) == is_compiled
        begin(agent)
        agent.source.collector.collect(10, is_random=True, write=agent.source._write)
        agent.learn(agent.prepare(agent.source.sample()))
        agents.append(agent)
    for mine, other in zip(*(agent.critic.parameters() for agent in agents), strict=True):
        torch.testing.assert_close(mine, other)
    for mine, other in zip(*(agent.policy.parameters() for agent in agents), strict=True):
        torch.testing.assert_close(mine, other)


def test_the_actors_step_leaves_the_critics_alone_and_targets_follow() -> None:
    agent = make("Pendulum-v1", target_tau=0.5)
    begin(agent)
    agent.source.collector.collect(10, is_random=True, write=agent.source._write)
    batch = agent.prepare(agent.source.sample())
    old_target = agent.target.weights[0].clone()
    agent.learn(batch)
    torch.testing.assert_close(
        agent.target.weights[0], 0.5 * old_target + 0.5 * agent.critic.weights[0]
    )
    critic = [p.clone() for p in agent.critic.parameters()]
    loss, _ = agent.actor_losses(batch, torch.tensor(0.2))
    agent.step_optimizer("policy", loss.mean())
    assert all(p.equal(q) for p, q in zip(agent.critic.parameters(), critic, strict=True))
    assert all(p.requires_grad for p in agent.critic.parameters())


def test_masked_choices_are_neither_taken_nor_bootstrapped_from() -> None:
    agent = make("tests.helpers.masked_envs:Masked-v0", action_masks=True, max_timesteps=400)
    rows = train_epochs(agent, 6)
    # An action that is not allowed costs 100 and ends the episode before its tenth step.
    assert rows[4]["train/roll/ep_len_mean"] == 10
    assert rows[4]["train/roll/ep_rew_min"] >= 0
    batch = agent.prepare(agent.source.sample())
    assert batch.mask.shape == batch.next_mask.shape == (8, 5)
    assert batch.mask.gather(1, batch.action.unsqueeze(1)).all()
    with torch.no_grad():
        (logits,), _ = agent.policy(batch.next_observation, mask=batch.next_mask)
        q = agent.target(batch.next_observation).min(dim=0).values
        share = logits.softmax(dim=1)
        assert share[~batch.next_mask].max() == 0
        expected = (share * (q - 0.5 * share.clamp_min(1e-30).log())).sum(dim=1)
        value = agent.next_value(batch, torch.tensor(0.5))
    torch.testing.assert_close(value, expected)
    # Each state keeps 98 % of what its own choices have: 0 where there is one, never out of reach.
    n_allowed = batch.mask.sum(dim=1).tolist()
    kept = [0.98 * math.log(n) for n in n_allowed]
    assert float(agent.entropy_to_keep(batch)) == pytest.approx(np.mean(kept), abs=1e-6)
    assert len(set(n_allowed)) > 1
    agent = make("tests.helpers.masked_envs:Masked-v0", action_masks=True, target_entropy=0.2)
    assert agent.entropy_to_keep(batch) == 0.2


def test_the_temperature_is_learnt_or_stays() -> None:
    fixed, learnt = make("Pendulum-v1", ent_coef=0.3), make("Pendulum-v1", ent_coef_init=0.3)
    for agent in (fixed, learnt):
        assert agent.temperature().item() == pytest.approx(0.3)
        train_epochs(agent, 3)
    assert fixed.temperature().item() == pytest.approx(0.3)
    assert learnt.temperature().item() != pytest.approx(0.3, abs=1e-4)


def test_unbounded_actions_are_refused_by_name() -> None:
    space = gym.spaces.Box(-np.inf, np.inf, (2,))
    agent = make("Pendulum-v1")
    with pytest.raises(ConfigError, match=r"sac scales its actions.*dimension 0, 1"):
        type(agent).build_models(agent.config, agent.train_env.single_observation_space, space)
    with pytest.raises(ConfigError, match=r"MultiDiscrete.*use ppo"):
        type(agent).build_models(
            agent.config,
            agent.train_env.single_observation_space,
            gym.spaces.MultiDiscrete([2, 3]),
        )
