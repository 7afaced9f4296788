"""Minibatches as captured graphs against the walk that launches every operation by itself."""

from __future__ import annotations

import copy

import pytest
import torch

from agents.ppo.captured_update import CapturedUpdate, _leaves, _with_leaves, why_not_captured
from tests.helpers.agents import make_agent, train_epochs
from utils.rollouts import Minibatch

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
PICTURES = {
    "env_kwargs": {"shape": [48, 48, 3], "length": 7, "ending": "truncated"},
    "policy_kwargs": {"hidden_dims": [], "feature_dim": 16, "share_trunk": True},
}
VARIANTS = [
    ("Picture", PICTURES | {"clip_range": "lin_0.2", "policy_lr": "lin_0.003"}),
    ("Picture", PICTURES | {"clip_range_vf": 0.2, "ent_coef": 0.01, "optimizer": "Adam"}),
    ("Pendulum-v1", {"normalize_advantages": "rollout", "max_grad_norm": None}),
]


def _agent(env_id: str, changes: dict, **more):
    return make_agent(env_id, device="cuda", max_timesteps=1000, **changes, **more)


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize(("env_id", "changes"), VARIANTS)
def test_captured_minibatches_are_the_eager_ones(env_id, changes):
    ours, theirs = _agent(env_id, changes), _agent(env_id, changes)
    assert isinstance(ours.captured_update, CapturedUpdate), ours.path
    theirs.captured_update = None
    rows = [train_epochs(agent, 3) for agent in (ours, theirs)]
    assert ours.captured_update.n_captures <= 2  # the first step makes the optimiser's tensors
    for mine, other in zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
    for mine, other in zip(*rows, strict=True):
        assert mine.keys() == other.keys()
        for key in mine:
            if "/time/" not in key:
                assert mine[key] == pytest.approx(other[key], rel=1e-3, abs=1e-4), key


@pytest.mark.gpu
@on_cuda
def test_a_loaded_state_is_captured_anew_and_goes_on():
    whole = _agent(*VARIANTS[0])
    train_epochs(whole, 2)
    state = copy.deepcopy(whole.checkpoint_state())
    assert isinstance(state["optimizer"]["param_groups"][0]["lr"], float)
    assert not state["optimizer"]["param_groups"][0]["capturable"]
    train_epochs(whole, 2)
    resumed = _agent(*VARIANTS[0])
    resumed.load_checkpoint_state(state)
    train_epochs(resumed, 2)
    for mine, other in zip(resumed.policy.parameters(), whole.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "device is cpu"),
        ({"policy_kwargs": {"memory": "gru", "memory_dim": 4, "hidden_dims": [8]}}, "a memory"),
    ],
)
def test_what_cannot_be_captured_is_named(changes, reason):
    agent = make_agent("CartPole-v1", **changes)
    assert reason in why_not_captured(agent)
    assert agent.captured_update is None


def test_a_minibatch_is_put_together_from_its_parts():
    one = [torch.full((2,), float(k)) for k in range(7)]
    parts = Minibatch({"a": one[0], "b": one[1]}, *one[2:], mask=None)
    leaves = _leaves(parts)
    assert [float(leaf[0]) for leaf in leaves] == [0, 1, 2, 3, 4, 5, 6]
    again = _with_leaves(parts, [leaf + 1 for leaf in leaves])
    assert again.mask is None
    assert float(again.observation["b"][0]) == 2
    assert float(again.returns[0]) == 7
