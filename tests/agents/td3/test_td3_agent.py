from __future__ import annotations

import pytest
import torch

from tests.helpers.agents import begin, make_agent, train_epochs
from tests.helpers.saved_states import state_differences
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.config import load_config
from utils.errors import ConfigError


def make(**changes):
    settings = {
        "algo_id": "td3",
        "batch_size": 8,
        "learning_starts_timesteps": 16,
        "buffer_transitions": 128,
        "steps_per_epoch": 8,
    }
    return make_agent("Pendulum-v1", **(settings | changes))


def filled(**changes):
    agent = make(**changes)
    begin(agent)
    agent.source.collector.collect(20, is_random=True, write=agent.source._write)
    return agent, agent.prepare(agent.source.sample())


@pytest.mark.parametrize("changes", [{}, {"policy_delay": 3, "exploration_correlation": 0.5}])
def test_a_saved_agent_goes_on_as_if_it_had_never_stopped(changes, tmp_path) -> None:
    whole, stopped, resumed = (make(**changes) for _ in range(3))
    train_epochs(whole, 4)
    train_epochs(stopped, 2)
    checkpoint = tmp_path / "epoch=02.ckpt"
    stopped.save_companions(checkpoint)
    save_checkpoint(checkpoint, stopped.checkpoint_state())
    resumed.load_companions(checkpoint)
    assert resumed.load_checkpoint_state(load_checkpoint(checkpoint)) == 0
    train_epochs(resumed, 2)
    assert state_differences(resumed.checkpoint_state(), whole.checkpoint_state()) == []


def test_actor_and_targets_move_at_every_second_update() -> None:
    agent, batch = filled()
    moved = []
    for _ in range(4):
        modules = (agent.policy, agent.target_policy, agent.target_critic, agent.critic)
        before = [next(module.parameters()).clone() for module in modules]
        agent.learn(batch)
        agent.count_update()
        after = [next(module.parameters()) for module in modules]
        moved.append([not a.equal(b) for a, b in zip(after, before, strict=True)])
    assert moved == [[False, False, False, True], [True, True, True, True]] * 2


def test_targets_are_those_of_smoothed_actions_by_the_lowest_critic() -> None:
    agent, batch = filled(target_noise=0.4, target_noise_limit=0.3)
    generator = agent.noise_generator.get_state()
    target = agent.target_for(batch)
    agent.noise_generator.set_state(generator)
    with torch.no_grad():
        action = agent.target_policy(batch.next_observation)
        noise = 0.4 * torch.empty_like(action).normal_(generator=agent.noise_generator)
        action = (action + noise.clamp(-0.3, 0.3)).clamp(-1, 1)
        q = agent.target_critic(batch.next_observation, action)
    torch.testing.assert_close(target, batch.reward + batch.discount * torch.minimum(q[0], q[1]))
    assert not target.requires_grad


def test_weights_of_another_run_reach_the_target_of_the_actor() -> None:
    agent, _ = filled()
    with torch.no_grad():
        agent.policy.head.bias.fill_(0.5)
    agent.take_over_policy({})
    seen = torch.randn(5, 3)
    torch.testing.assert_close(agent.target_policy(seen), agent.policy(seen), rtol=0, atol=0)


def test_what_td3_cannot_act_in_is_refused() -> None:
    with pytest.raises(ConfigError, match="td3 acts in a Box"):
        make_agent("CartPole-v1", algo_id="td3")
    with pytest.raises(ConfigError, match="draws nothing"):
        load_config("Pendulum-v1:td3", ["eval_deterministic=false"])
