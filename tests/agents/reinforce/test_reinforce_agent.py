from __future__ import annotations

import pytest
import torch

from tests.helpers.agents import begin, make_agent, train_epochs
from utils.errors import ConfigError
from utils.returns import standardize


def make(env_id="Counting", **changes):
    settings = {"max_episode_steps": 5} if "-v" not in env_id else {}
    return make_agent(env_id, algo_id="reinforce", **(settings | changes))


def collect(agent):
    begin(agent)
    agent.collect_rollout()
    (batch,) = agent.source.loader
    (minibatch,) = batch.minibatches()
    return minibatch


def test_a_rollout_is_the_asked_number_of_whole_episodes():
    agent = make(env_kwargs={"length": 3}, episodes_per_env=2)
    rows = train_epochs(agent, 3)
    # 2 environments of 2 episodes of 3 steps.
    assert [row["train/roll/n_episodes"] for row in rows] == [4, 4, 4]
    assert agent.counters.to_dict() == {
        "epoch": 3,
        "timesteps": 36,
        "vec_steps": 18,
        "updates": 3,
        "episodes": 12,
    }


@pytest.mark.parametrize(
    ("changes", "targets"),
    [
        # Rewards of 1 and a discount of 0.5: 1 + 0.5 + 0.25, 1 + 0.5, 1.
        ({}, [1.75, 1.5, 1.0]),
        ({"returns_type": "mc:episode"}, [1.75, 1.75, 1.75]),
        # Less a baseline of 1.
        (
            {"policy_targets": "advantages", "use_baseline": True},
            [0.75, 0.5, 0.0],
        ),
        (
            {
                "policy_targets": "advantages",
                "use_baseline": True,
                "returns_type": "mc:episode",
            },
            [0.75, 0.75, 0.75],
        ),
    ],
)
def test_targets_by_hand(changes, targets):
    agent = make(env_kwargs={"length": 3}, gamma=0.5, normalize_targets=False, **changes)
    if agent.policy.critic_head is not None:
        agent.policy.critic_head.weight.data.zero_()
        agent.policy.critic_head.bias.data.fill_(1.0)
    minibatch = collect(agent)
    order = minibatch.observation[:, 0].argsort(stable=True)
    found = minibatch.advantage[order].reshape(3, 2)
    torch.testing.assert_close(found, torch.tensor(targets).unsqueeze(1).expand(3, 2))
    assert minibatch.returns.sort().values.tolist() == [1.0, 1.0, 1.5, 1.5, 1.75, 1.75]
    new = agent.policy.evaluate_actions(minibatch.observation, minibatch.action)
    loss = agent.losses_for_batch(minibatch).metrics["train/loss/policy"]
    assert float(loss.detach()) == pytest.approx(
        -float((new.logprob * minibatch.advantage).mean().detach()), 1e-5
    )


def test_an_episode_that_was_cut_counts_on_with_its_baseline():
    # Cut after 2 steps by the limit, where the baseline sees 1 more to come.
    agent = make(env_kwargs={"length": 100}, max_episode_steps=2, gamma=0.5, use_baseline=True)
    agent.policy.critic_head.weight.data.zero_()
    agent.policy.critic_head.bias.data.fill_(1.0)
    # The second step is worth 1 + 0.5 of what is to come, the first 1 + 0.5 of that.
    minibatch = collect(agent)
    assert minibatch.returns.sort().values.tolist() == [1.5, 1.5, 1.75, 1.75]
    # So the baseline moves the policy even where the targets are returns.
    assert torch.equal(minibatch.advantage, minibatch.returns)


def test_targets_are_normalised_over_the_rollout():
    agent = make(env_kwargs={"length": 3}, gamma=0.5)
    minibatch = collect(agent)
    new = agent.policy.evaluate_actions(minibatch.observation, minibatch.action)
    expected = -(new.logprob * standardize(minibatch.advantage)).mean()
    loss = agent.losses_for_batch(minibatch).metrics["train/loss/policy"]
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-6)


def test_a_better_episode_makes_its_actions_likelier():
    agent = make("Identity", max_episode_steps=10, policy_lr=0.1, ent_coef=0.0)
    minibatch = collect(agent)
    right = minibatch.action == minibatch.observation.long().flatten()
    observation = minibatch.observation[right]
    before = agent.policy.evaluate_actions(observation, minibatch.action[right]).logprob.mean()
    minibatch.advantage.copy_(right.float())
    (batch,) = agent.source.loader
    agent.update_from(batch)
    after = agent.policy.evaluate_actions(observation, minibatch.action[right]).logprob.mean()
    assert float(after.detach()) > float(before.detach())


def test_the_policy_gradient_does_not_move_the_baseline():
    agent = make(use_baseline=True, vf_coef=0.0, policy_targets="advantages")
    agent.losses_for_batch(collect(agent)).total.backward()
    for name, parameter in agent.policy.named_parameters():
        moved = parameter.grad is not None and bool(parameter.grad.abs().sum() > 0)
        assert moved == (not name.startswith("critic")), name


def test_without_a_baseline_there_is_no_critic():
    agent = make()
    assert not agent.policy.has_critic
    (row,) = train_epochs(agent, 1)
    assert "train/loss/value" not in row
    assert "train/reinforce/explained_variance" not in row
    agent = make(use_baseline=True)
    (row,) = train_epochs(agent, 1)
    assert row["train/loss/value"] > 0


def test_episodes_without_an_end_cannot_be_learnt_from():
    with pytest.raises(ConfigError, match="set max_episode_steps"):
        make_agent("Counting", algo_id="reinforce")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_episodes_of_unequal_length_are_learnt_from_on_a_gpu():
    agent = make_agent("CartPole-v1", algo_id="reinforce", device="cuda", rollouts_per_epoch=2)
    train_epochs(agent, 2)
    assert not agent.source.buffer.rows(agent.source.buffer.is_valid).all()
    agent.close()
