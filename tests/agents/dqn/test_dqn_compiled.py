"""Compiled choices and updates against those of torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.dqn import dqn_compiled
from tests.helpers.agents import begin, make_agent
from tests.helpers.saved_states import state_differences

BASE = {
    "algo_id": "dqn",
    "max_timesteps": 400,
    "policy_kwargs": {"hidden_dims": [20, 70]},
    "batch_size": 70,
    "learning_starts_timesteps": 100,
    "buffer_transitions": 400,
    "steps_per_epoch": 100,
}


def make(*, compiled: bool, **changes):
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(dqn_compiled, "why_not_compiled", lambda *_: "it is the reference")
        agent = make_agent("CartPole-v1", **(BASE | changes))
    assert (agent.compiled is not None) == compiled
    return agent


def filled(agent):
    """Give an agent a buffer of random steps, and values that are not tiny."""
    begin(agent)
    agent.source.collector.collect(150, is_random=True, write=agent.source._write)
    with torch.no_grad():
        agent.policy.advantage.output.bias += torch.tensor([0.3, -0.2])
    return agent


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"double": False, "loss": "mse"},
        {"target_update_timesteps": None, "target_tau": 0.1},
        {"prioritized_replay": True, "n_step": 3},
        {"max_grad_norm": 0.01, "optimizer": "Adam", "optimizer_kwargs": {"weight_decay": 0.1}},
        {"policy_kwargs": {"hidden_dims": [], "activation": "tanh"}},
        {"policy_kwargs": {"hidden_dims": [16], "activation": "tanh"}, "max_grad_norm": None},
        {"normalize_obs": "rolling"},
    ],
    ids=str,
)
def test_updates_leave_what_torch_would_have_left(changes) -> None:
    agents = [filled(make(compiled=compiled, **changes)) for compiled in (True, False)]
    for agent in agents:
        agent.before_updates()
        agent.make_updates(5)
    compiled, reference = agents
    torch.testing.assert_close(
        dict(compiled.policy.state_dict()),
        dict(reference.policy.state_dict()),
        rtol=2e-3,
        atol=2e-6,
    )
    torch.testing.assert_close(
        dict(compiled.target.state_dict()),
        dict(reference.target.state_dict()),
        rtol=1e-3,
        atol=1e-6,
    )
    rows = [agent.log.flush()[0] for agent in agents]
    assert rows[0] == pytest.approx(rows[1], rel=1e-4)
    states = [agent.optimizers["policy"].state_dict()["state"] for agent in agents]
    for k, state in states[0].items():
        assert float(state["step"]) == float(states[1][k]["step"]) == 5
        torch.testing.assert_close(state["exp_avg"], states[1][k]["exp_avg"], rtol=2e-3, atol=1e-7)


def test_priorities_become_the_errors() -> None:
    agents = [
        filled(make(compiled=compiled, prioritized_replay=True)) for compiled in (True, False)
    ]
    drawn = []
    for agent in agents:
        agent.make_updates(2)
        drawn.append(agent.source.sample(beta=0.4))
    assert torch.equal(drawn[0].index, drawn[1].index)
    torch.testing.assert_close(drawn[0].weight, drawn[1].weight, rtol=1e-3, atol=0)


def test_both_choose_the_same_actions() -> None:
    agent = filled(make(compiled=True))
    observation = torch.randn(150, 4, generator=torch.Generator().manual_seed(0))
    best = agent.choose_best(observation, None)
    q = agent.policy.q_values(observation)
    assert best.dtype == np.int64
    assert torch.equal(torch.from_numpy(best), q.argmax(dim=1))


def test_a_network_that_is_not_finite_is_seen() -> None:
    agent = filled(make(compiled=True))
    with torch.no_grad():
        agent.policy.advantage.output.weight[0, 0] = torch.nan
    agent.make_updates(1)
    means, diverged = agent.log.flush()
    assert means == {}
    assert diverged[0] == "train/loss/total"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"noisy": True}, "noisy is set"),
        ({"dueling": True}, "dueling is set"),
        ({"distribution": "c51"}, "distribution is c51"),
        ({"policy_kwargs": {"activation": "elu"}}, "the activation is elu"),
        ({"optimizer": "RMSprop"}, "the optimiser is RMSprop"),
        ({"optimizer_kwargs": {"amsgrad": True}}, "the optimiser's option ['amsgrad']"),
    ],
)
def test_what_is_not_compiled_says_why(changes, reason: str) -> None:
    agent = make_agent("CartPole-v1", **(BASE | changes))
    assert agent.compiled is None
    assert dqn_compiled.why_not_compiled(agent.policy, agent.config) == reason
    assert agent.path == f"updates by torch ({reason})"


@pytest.mark.parametrize("changes", [{}, {"prioritized_replay": True, "n_step": 3}], ids=str)
def test_compiling_before_training_leaves_no_trace(changes) -> None:
    warm, cold = make(compiled=True, **changes), make(compiled=True, **changes)
    warm.warm_up()
    for agent in (warm, cold):
        begin(agent)
    assert state_differences(warm.checkpoint_state(), cold.checkpoint_state()) == []
    assert len(warm.source.buffer) == 0
