from __future__ import annotations

import json

import pytest
import torch

from agents.loading import load_policy, load_policy_state
from tests.helpers.agents import begin, make_agent, train_epochs
from utils.checkpoints import save_checkpoint
from utils.environment import build_env_from_config
from utils.errors import CheckpointError


@pytest.fixture
def saved(tmp_path):
    agent = make_agent("CartPole-v1", normalize_obs="rolling")
    train_epochs(agent, 2)
    path = tmp_path / "epoch=02.ckpt"
    save_checkpoint(path, agent.checkpoint_state())
    return agent, path


def test_weights_and_normaliser_come_back_with_the_policy(saved):
    agent, path = saved
    env = build_env_from_config(agent.config)
    loaded = load_policy(agent.config, path, env=env)
    assert loaded.checkpoint == path
    assert loaded.counters == agent.counters
    assert not loaded.policy.training
    raw = torch.tensor([[0.1, -0.2, 0.05, 0.3]])
    with torch.inference_mode():
        expected = agent.policy.act(agent.policy.normalize(raw), deterministic=True)
        found = loaded.policy.act(loaded.policy.normalize(raw), deterministic=True)
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        assert ours.equal(theirs)


def test_other_spaces_are_refused_with_both_shown(saved):
    agent, path = saved
    config = agent.config.model_copy(update={"env_id": "Acrobot-v1"})
    env = build_env_from_config(config)
    with pytest.raises(CheckpointError, match="does not fit Acrobot-v1") as error:
        load_policy(config, path, env=env)
    assert "2" in str(error.value)
    assert "3" in str(error.value)
    assert "\n" not in str(error.value)


def test_other_networks_are_refused_in_one_line(saved):
    agent, path = saved
    other = make_agent(
        "CartPole-v1", normalize_obs="rolling", policy_kwargs={"hidden_dims": [8, 8]}
    )
    state = agent.checkpoint_state()
    with pytest.raises(CheckpointError, match="holds other networks") as error:
        load_policy_state(other.policy, state, source=path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    # Without the other run's config the networks alone can be compared.
    assert "is here and not there" in str(error.value)


def test_a_differing_width_is_told_by_its_shapes(saved):
    agent, path = saved
    other = make_agent("CartPole-v1", normalize_obs="rolling", policy_kwargs={"hidden_dims": [9]})
    before = {name: tensor.clone() for name, tensor in other.policy.state_dict().items()}
    with pytest.raises(CheckpointError, match=r"has shape \(.*8.*\) there and \(.*9.*\) here"):
        load_policy_state(other.policy, agent.checkpoint_state(), source=path)
    assert all(before[name].equal(now) for name, now in other.policy.state_dict().items())


def test_the_settings_that_differ_are_named(tmp_path):
    agent = make_agent("CartPole-v1")
    begin(agent)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "config.json").write_text(json.dumps(agent.config.to_dict()))
    other = make_agent(
        "CartPole-v1", policy_kwargs={"hidden_dims": [9, 9], "activation": "relu", "feature_dim": 8}
    )
    with pytest.raises(CheckpointError) as error:
        load_policy_state(
            other.policy,
            agent.checkpoint_state(),
            source=tmp_path / "checkpoints" / "epoch=01.ckpt",
            config=other.config,
        )
    assert str(error.value).endswith(
        "holds other networks: policy_kwargs.hidden_dims is [8] there and [9, 9] here"
    )


def test_a_policy_without_the_normaliser_of_the_run_is_refused(saved):
    agent, path = saved
    plain = make_agent("CartPole-v1")
    with pytest.raises(CheckpointError, match="normalizer"):
        load_policy_state(plain.policy, agent.checkpoint_state(), source=path)


@pytest.mark.parametrize("algo_id", ["sac", "td3"])
def test_the_critics_of_an_actor_come_with_it_where_they_are_asked_for(algo_id, tmp_path):
    agent = make_agent(
        "Pendulum-v1",
        algo_id=algo_id,
        batch_size=8,
        buffer_transitions=64,
        learning_starts_timesteps=16,
    )
    begin(agent)
    path = tmp_path / "epoch=00.ckpt"
    save_checkpoint(path, agent.checkpoint_state())
    env = build_env_from_config(agent.config)
    raw = torch.rand(3, 3)
    assert "value" not in load_policy(agent.config, path, env=env).policy.explain(raw)
    loaded = load_policy(agent.config, path, env=env, with_critic=True)
    with torch.inference_mode():
        thoughts = loaded.policy.explain(raw)
        of_each = agent.critic(raw, thoughts["action_mean"] / 2.0)  # torques up to 2
    assert thoughts["value"].allclose(of_each.min(dim=0).values)
    agent.close()
    env.close()
