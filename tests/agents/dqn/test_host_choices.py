"""A GPU's choices that the host makes, beside the network's own; here both are on the CPU."""

from __future__ import annotations

import pytest
import torch

from agents.dqn import host_choices
from agents.dqn.host_choices import HostChoices, why_not_on_host
from tests.agents.test_captured_replay import REPLAY, build, on_cuda
from tests.helpers.agents import begin, make_agent, train_epochs
from tests.helpers.saved_states import state_differences


def dqn(**changes):
    return make_agent("CartPole-v1", **(REPLAY | {"algo_id": "dqn"} | changes))


def with_host_choices(**changes):
    """Build an agent that learns as on a GPU, of which the host makes the choices."""
    agent = dqn(**changes)
    agent.compiled, agent._on_host = None, HostChoices(agent.policy)
    return agent


SEEN = torch.randn((200, 4), generator=torch.Generator().manual_seed(0))


def best(agent) -> list[int]:
    """Return the choices of the network itself."""
    with torch.no_grad():
        return agent.policy.q_values(agent.policy.normalize(SEEN)).argmax(1).tolist()


@pytest.mark.parametrize(
    "changes", [{}, {"policy_kwargs": {"hidden_dims": [24, 8], "activation": "tanh"}}]
)
def test_the_host_chooses_as_the_network_does_once_it_is_told_that_weights_changed(changes) -> None:
    agent = dqn(**changes)
    host = HostChoices(agent.policy)
    generator = torch.Generator().manual_seed(1)
    first = best(agent)
    assert len(set(first)) == 2
    assert host.choose_best(SEEN).tolist() == first
    with torch.no_grad():
        for parameter in agent.policy.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    assert best(agent) != first
    assert host.choose_best(SEEN).tolist() == first
    host.forget()
    assert host.choose_best(SEEN).tolist() == best(agent)


def test_a_training_is_told_of_its_updates() -> None:
    ours, theirs = with_host_choices(), dqn()
    theirs.compiled = None
    for agent in (ours, theirs):
        train_epochs(agent, 6)
    assert ours.counters.updates > 20
    assert ours.source.buffer.action.equal(theirs.source.buffer.action)
    for mine, other in zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True):
        assert mine.equal(other)


@pytest.mark.parametrize("resumes", [True, False])
def test_weights_of_a_checkpoint_are_those_that_choices_are_made_with(resumes) -> None:
    saved, agent = dqn(seed=1), with_host_choices(seed=2)
    begin(saved)
    state = saved.checkpoint_state()
    assert agent.choose_best(SEEN, None).tolist() == best(agent) != best(saved)
    if resumes:
        agent.load_checkpoint_state(state)
    else:
        agent.load_policy_state(state)
        agent.take_over_policy(state)
    assert agent.choose_best(SEEN, None).tolist() == best(agent) == best(saved)


def test_what_choices_need_is_ready_before_training(monkeypatch) -> None:
    """Compiling takes seconds, which are none of the training's."""
    n_rows = []
    choose = host_choices.choose_best

    def watched(*args) -> None:
        n_rows.append(len(args[-1]))
        choose(*args)

    monkeypatch.setattr(host_choices, "choose_best", watched)
    warm, cold = (with_host_choices(n_envs=3) for _ in range(2))
    warm.warm_up()
    assert n_rows == [3]
    for agent in (warm, cold):
        begin(agent)
    assert state_differences(warm.checkpoint_state(), cold.checkpoint_state()) == []


def test_bounds_of_the_space_scale_what_the_host_sees() -> None:
    agent = with_host_choices(normalize_obs="static")
    assert not agent.policy.normalizer.is_identity
    assert agent.choose_best(SEEN, None).tolist() == best(agent)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"debug": True}, "debug is set"),
        ({"dueling": True}, "dueling is set"),
        ({"normalize_obs": "rolling"}, "observations are normalised by running moments"),
        ({"n_envs": 64, "policy_kwargs": {"hidden_dims": [256, 256]}}, "there is much to compute"),
    ],
)
def test_who_chooses(changes, reason) -> None:
    agent = dqn(**changes)
    assert why_not_on_host(agent.policy, agent.config) == reason


@pytest.mark.gpu
@on_cuda
def test_on_a_gpu_a_run_is_the_one_in_which_the_gpu_chooses(monkeypatch) -> None:
    ours = build("dqn", device="cuda")
    assert ours._on_host is not None
    monkeypatch.setattr(host_choices, "why_not_on_host", lambda *_: "it is the reference")
    theirs = build("dqn", device="cuda")
    assert theirs._on_host is None
    for agent in (ours, theirs):
        train_epochs(agent, 5)
        agent.source.buffer.flush()
    assert ours.counters == theirs.counters
    assert ours.source.buffer.action.equal(theirs.source.buffer.action)
    for mine, other in zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)
