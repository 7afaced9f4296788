from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from tests.helpers.agents import begin, make_agent, train_epochs
from utils.errors import ConfigError

MASKED = "tests.helpers.masked_envs:Masked-v0"


def make(env_id: str = "CartPole-v1", **changes):
    return make_agent(env_id, **({"algo_id": "dqn", "max_timesteps": 2000} | changes))


def test_an_update_moves_the_value_of_what_was_done_towards_its_target() -> None:
    """Every action pays 1 and ends the episode."""
    agent = make(
        "Counting",
        env_kwargs={"length": 1},
        policy_kwargs={"hidden_dims": []},
        policy_lr=0.05,
        epsilon=1.0,
    )
    train_epochs(agent, 40)
    q = agent.policy.q_values(torch.zeros(1, 1))
    torch.testing.assert_close(q, torch.ones(1, 2), rtol=0.02, atol=0)


@pytest.mark.parametrize("double", [True, False])
def test_targets_come_from_the_target_network(double: bool) -> None:
    agent = make(double=double, policy_kwargs={"hidden_dims": []})
    begin(agent)
    agent.source.collect(next(iter(agent.source.plan.rounds())))
    batch = agent.prepare(agent.source.sample())
    with torch.no_grad():
        for parameter in agent.policy.parameters():
            parameter.zero_()
        for parameter in agent.target.parameters():
            parameter.zero_()
        agent.policy.advantage.output.bias.copy_(torch.tensor([1.0, 0.0]))
        agent.target.advantage.output.bias.copy_(torch.tensor([10.0, 20.0]))
    loss, error, value = agent.losses_for_batch(batch)
    # The online network chooses action 0, worth 10 to the target; without it the best is 20.
    target = batch.reward + batch.discount * (10.0 if double else 20.0)
    torch.testing.assert_close(error, (value - target).abs())
    torch.testing.assert_close(loss.detach(), error - 0.5)  # huber beyond 1


def test_a_soft_target_follows_every_update() -> None:
    agent = make(target_update_timesteps=None, target_tau=0.25)
    before = copy.deepcopy(agent.target.state_dict())
    begin(agent)
    agent.source.collect(next(iter(agent.source.plan.rounds())))
    agent.make_updates(1)
    for name, value in agent.target.state_dict().items():
        moved = before[name] + 0.25 * (agent.policy.state_dict()[name] - before[name])
        torch.testing.assert_close(value, moved, rtol=1e-5, atol=1e-7)


def test_the_target_is_copied_in_offline_phases_too() -> None:
    phases = [
        {"name": "fill", "type": "online", "hooks": ["collect"], "duration": {"timesteps": 20}},
        {"name": "study", "type": "offline", "hooks": ["update"], "duration": {"updates": 45}},
    ]
    agent = make(phases=phases, replay_ratio=0.5, target_update_timesteps=20)
    copies = []
    agent.update_target = lambda: copies.append(agent._n_offline_updates)
    train_epochs(agent, 2 + 6)  # 16 and 4 timesteps; 5 times the 8 updates of such an epoch, and 5
    assert agent.counters.updates == 45
    assert copies == [0, 10, 20, 30, 40]  # 20 timesteps pay for 10 updates


def test_updates_in_pieces_are_those_in_one(monkeypatch) -> None:
    whole, pieces = make(), make()
    for agent, most in ((whole, 100), (pieces, 3)):
        monkeypatch.setattr("agents.replay_agent.N_AT_ONCE", most)
        begin(agent)
        agent.source.collect(next(iter(agent.source.plan.rounds())))
        agent.make_updates(8)
        assert agent.log.n_updates == 8
    for ours, theirs in zip(pieces.policy.parameters(), whole.policy.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_priorities_follow_the_errors() -> None:
    agent = make(prioritized_replay=True, dueling=True)
    train_epochs(agent, 4)
    batch = agent.source.sample(beta=0.5)
    assert batch.weight is not None
    assert 0 < float(batch.weight.min()) < float(batch.weight.max()) <= 1.0


def test_a_noisy_network_explores_without_epsilon() -> None:
    agent = make(noisy=True, noisy_std=3.0, epsilon=0.0)
    begin(agent)
    observation = torch.rand(1, 4).expand(64, 4)
    seen = {int(agent.choose_best(observation, None)[0]) for _ in range(50)}
    assert seen == {0, 1}
    assert len(set(agent.choose_best(observation, None))) == 1  # one draw for all environments


def test_choices_that_count_from_elsewhere_reach_the_environment() -> None:
    agent = make("Identity", env_kwargs={"start": -1}, policy_lr=0.02)
    train_epochs(agent, 60)  # the environment asserts that actions are within -1, 0, 1
    assert agent.policy.n_actions == 3
    observation = torch.arange(3)
    assert agent.policy.act(observation, deterministic=True).action.tolist() == [0, 1, 2]
    assert agent.evaluate().mean == 10.0


@pytest.mark.parametrize("n_envs", [1, 4])
def test_counted_states_are_one_hot(n_envs: int) -> None:
    agent = make("Taxi-v4", n_envs=n_envs, eval_n_envs=1)
    train_epochs(agent, 5)
    assert agent.policy.advantage.hidden.in_features == 500
    assert agent.source.sample().observation.dtype == torch.int64


@pytest.mark.parametrize("settings", [{}, {"distribution": "c51", "dueling": True}], ids=str)
def test_forbidden_actions_are_neither_taken_nor_bootstrapped_from(settings) -> None:
    agent = make(MASKED, action_masks=True, **settings)
    rows = train_epochs(agent, 12)  # a forbidden action would end an episode at -100
    assert rows[-1]["train/roll/ep_rew_min"] >= 0
    batch = agent.prepare(agent.source.sample())
    assert batch.next_mask is not None
    assert not batch.next_mask.all()
    buffer = agent.source.buffer
    held = buffer.gather(torch.arange(2 * buffer.head - len(buffer), 2 * buffer.head))
    assert held.truncated.any()  # and what such an end allowed is known
    assert not agent.prepare(held).next_mask[held.truncated].all()
    assert agent.evaluate().mean >= 0


def test_stacked_pictures_are_learnt_from() -> None:
    agent = make(
        "Picture",
        env_kwargs={"shape": [48, 48, 3], "length": 7},
        frame_stack=2,
        policy_kwargs={"hidden_dims": [], "feature_dim": 8},
        dueling=True,
        n_step=3,
        prioritized_replay=True,
    )
    rows = train_epochs(agent, 4)
    assert np.isfinite(rows[-1]["train/loss/total"])
    batch = agent.source.sample(beta=0.5)
    assert batch.observation.shape == (8, 6, 48, 48)
    assert batch.observation.dtype == torch.uint8


def test_actions_that_are_no_choices_are_refused() -> None:
    with pytest.raises(ConfigError, match="dqn values every single action"):
        make("Pendulum-v1")


def test_wrong_settings_leave_no_compiled_way_out() -> None:
    agent = make(policy_kwargs={"hidden_dims": [8], "activation": "gelu"})
    rows = train_epochs(agent, 3)
    assert "train/loss/total" in rows[-1]
    assert "gelu" in agent.path
