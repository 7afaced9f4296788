from __future__ import annotations

import pytest
import torch

from tests.helpers.agents import begin, make_agent, train_epochs
from utils.returns import standardize

ACTION_SPACES = {
    "Discrete": ("CartPole-v1", {}),
    "Box": ("Pendulum-v1", {}),
    "MultiDiscrete": ("tests.helpers.space_envs:Drawn-v0", {"acts": "multi_discrete"}),
    "MultiBinary": ("tests.helpers.space_envs:Drawn-v0", {"acts": "multi_binary"}),
}


def collect(agent):
    """Collect a first rollout; return its minibatches."""
    begin(agent)
    agent.collect_rollout()
    (batch,) = agent.source.loader
    return list(batch.minibatches())


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_the_first_minibatch_has_a_ratio_of_one(name):
    env_id, kwargs = ACTION_SPACES[name]
    agent = make_agent(env_id, env_kwargs=kwargs, normalize_obs="rolling")
    minibatch = collect(agent)[0]
    new = agent.policy.evaluate_actions(minibatch.observation, minibatch.action)
    ratio = (new.logprob - minibatch.old_logprob).exp()
    # Up to how a matrix product adds up, which depends on the size of the batch.
    torch.testing.assert_close(ratio, torch.ones(8), rtol=0, atol=2e-6)
    torch.testing.assert_close(new.value, minibatch.old_value, rtol=0, atol=2e-6)


def test_an_update_that_changes_nothing_has_no_distance():
    (row,) = train_epochs(make_agent("CartPole-v1", policy_lr=0.0, target_kl=0.1), 1)
    assert row["train/ppo/approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert row["train/ppo/clip_fraction"] == row["train/ppo/kl_stopped"] == 0
    (row,) = train_epochs(make_agent("CartPole-v1", policy_lr=0.05, n_epochs=10), 1)
    assert row["train/ppo/approx_kl"] > 0.01
    assert 0 < row["train/ppo/clip_fraction"] < 1


def test_its_gradient_is_that_of_the_policy_gradient():
    agent = make_agent("CartPole-v1", normalize_advantages="none", ent_coef=0.1, vf_coef=0.25)
    minibatch = collect(agent)[0]
    agent.losses_for_batch(minibatch).total.backward()
    found = [p.grad.clone() for p in agent.policy.parameters()]
    agent.policy.zero_grad()
    new = agent.policy.evaluate_actions(minibatch.observation, minibatch.action)
    # More likely where the advantage is positive, towards the returns, towards entropy.
    expected = (
        -(minibatch.advantage * new.logprob).mean()
        + 0.25 * (new.value - minibatch.returns).square().mean()
        - 0.1 * new.entropy.mean()
    )
    expected.backward()
    for name, ours in zip(dict(agent.policy.named_parameters()), found, strict=True):
        theirs = agent.policy.get_parameter(name).grad
        assert theirs.abs().sum() > 0, name
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_no_gradient_reaches_what_the_old_policy_said():
    agent = make_agent("CartPole-v1")
    for field in collect(agent)[0]:
        assert field is None or not field.requires_grad


@pytest.mark.parametrize("over", ["batch", "rollout", "none"])
def test_advantages_are_normalised_over_what_was_asked(over):
    agent = make_agent("CartPole-v1", normalize_advantages=over)
    minibatch = collect(agent)[0]
    everything = agent.source.buffer.samples.advantage
    if over == "rollout":
        assert everything.mean().abs() < 1e-6
        assert float(everything.std()) == pytest.approx(1.0, abs=1e-4)
    else:
        assert float(everything.std()) != pytest.approx(1.0, abs=1e-3)
    used = standardize(minibatch.advantage) if over == "batch" else minibatch.advantage
    loss = agent.losses_for_batch(minibatch).metrics["train/loss/policy"].detach()
    assert float(loss) == pytest.approx(-float(used.mean()), abs=1e-5)


def test_an_update_ends_before_the_step_that_is_too_far(monkeypatch):
    # 4 minibatches a pass, 10 passes; the third minibatch of the third pass is too far away.
    agent = make_agent(
        "CartPole-v1", batch_size=4, n_epochs=10, target_kl=0.1, max_timesteps=32, policy_lr=1e-9
    )
    agent.compiled_update = None
    n_calls = 0

    def distance(*, logprob, old_logprob):
        nonlocal n_calls
        n_calls += 1
        return torch.full_like(logprob, 0.1501 if n_calls == 11 else 0.1499)

    monkeypatch.setattr("agents.ppo.ppo_agent.approximate_kl", distance)
    (row,) = train_epochs(agent, 1)
    assert agent.counters.updates == 10
    steps = {int(state["step"]) for state in agent.optimizer.state_dict()["state"].values()}
    assert steps == {10}
    assert row["train/ppo/kl_stopped"] > 0
    # Only this rollout is cut short, and nothing else follows the number of updates.
    (row,) = train_epochs(agent, 1)
    assert (agent.counters.updates, agent.counters.timesteps) == (50, 32)
    assert row["train/ppo/kl_stopped"] == 0


def test_an_update_may_end_before_its_first_step():
    agent = make_agent("CartPole-v1", target_kl=1e-12, policy_lr=0.1)
    before = [p.clone() for p in agent.policy.parameters()]
    agent.policy.actor_head.bias.data += torch.tensor([0.5, 0.0])
    begin(agent)
    agent.collect_rollout()
    agent.policy.actor_head.bias.data -= torch.tensor([0.5, 0.0])
    (batch,) = agent.source.loader
    agent.update_from(batch)
    assert agent.counters.updates == 0
    row = agent.recorder.flush()
    assert row["train/ppo/kl_stopped"] == 1
    assert "train/grad/norm" not in row
    torch.testing.assert_close(list(agent.policy.parameters()), before, rtol=0, atol=1e-7)


def test_each_sample_is_learnt_from_once_a_pass():
    agent = make_agent("Counting", n_steps=12, batch_size=6, n_epochs=3)
    begin(agent)
    agent.collect_rollout()
    (batch,) = agent.source.loader
    assert batch.index_table.shape == (12, 6)
    for one_pass in batch.index_table.split(4):
        assert sorted(one_pass.flatten().tolist()) == list(range(24))
    orders = {tuple(one_pass.flatten().tolist()) for one_pass in batch.index_table.split(4)}
    assert len(orders) == 3


def test_values_are_clipped_only_if_asked():
    losses = {}
    for limit in (None, 1e-9):
        agent = make_agent("CartPole-v1", clip_range_vf=limit)
        minibatch = collect(agent)[0]
        old = float((minibatch.old_value - minibatch.returns).square().mean())
        shift = (minibatch.returns - minibatch.old_value).mean()
        agent.policy.critic_head.bias.data += shift
        losses[limit] = float(
            agent.losses_for_batch(minibatch).metrics["train/loss/value"].detach()
        )
    # A value may not gain from coming nearer than the limit to its target.
    assert losses[None] < 0.9 * old
    assert losses[1e-9] >= old * (1 - 1e-6)


def test_returns_that_do_not_vary_have_no_explained_variance():
    (row,) = train_epochs(make_agent("Counting", env_kwargs={"length": 1}), 1)
    assert "train/ppo/explained_variance" not in row
    (row,) = train_epochs(make_agent("Counting", env_kwargs={"length": 5}), 1)
    assert "train/ppo/explained_variance" in row


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_envs": 1, "n_steps": 2, "batch_size": 2},
        {"n_envs": 1, "n_steps": 1, "batch_size": 1, "normalize_advantages": "none"},
        {"n_envs": 2, "n_steps": 10, "batch_size": 1, "normalize_advantages": "rollout"},
    ],
)
def test_the_smallest_minibatches_keep_weights_finite(sizes):
    agent = make_agent("CartPole-v1", n_epochs=1, policy_lr=0.01, **sizes)
    train_epochs(agent, 10)
    assert agent.counters.updates >= 10
    assert all(torch.isfinite(p).all() for p in agent.policy.parameters())


@pytest.mark.parametrize("name", ["Discrete", "Box"])
def test_training_by_the_closed_form_is_training_by_autograd(name, monkeypatch):
    env_id, kwargs = ACTION_SPACES[name]
    weights = []
    for is_closed in (True, False):
        agent = make_agent(env_id, env_kwargs=kwargs, ent_coef=0.01, clip_range_vf=0.5)
        if not is_closed:
            monkeypatch.setattr("agents.ppo.ppo_agent.has_closed_form", lambda policy: False)
        train_epochs(agent, 3)
        weights.append(torch.cat([p.detach().flatten() for p in agent.policy.parameters()]))
    assert agent.counters.updates > 0
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=2e-4)
