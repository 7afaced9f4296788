"""The compiled update holds to autograd, to torch's optimisers and to the reference's walk."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
import torch

from agents.minibatch_walk import walk_minibatches
from agents.ppo.ppo_compiled import compile_update, why_not
from agents.ppo.ppo_losses import (
    KL_TOLERANCE,
    approximate_kl,
    clipped_fraction,
    clipped_policy_loss,
    value_loss,
)
from agents.records import find_divergence
from agents.update_report import UpdateLosses, UpdateReport
from tests.helpers.rollouts import make_batch, make_policy, make_rollout
from utils.optimization import GradientGroups, build_optimizer
from utils.returns import standardize

HYPERPARAMETERS = {"clip_range": 0.2, "vf_coef": 0.5, "ent_coef": 0.01, "max_grad_norm": 0.5}


def make_config(**changes):
    values = {"optimizer": "AdamW", "optimizer_kwargs": {}, "normalize_advantages": "batch"}
    return SimpleNamespace(**(values | changes))


def make_optimizer(policy, config, lr=1e-3):
    return build_optimizer(
        config.optimizer, policy.parameters(), lr=lr, kwargs=config.optimizer_kwargs
    )


def reference_update(policy, batch, hp, *, config, optimizer) -> UpdateReport:
    """Walk the minibatches with the losses as they are written and autograd."""

    def write_gradients(minibatch):
        new = policy.evaluate_actions(minibatch.observation, minibatch.action)
        advantage = minibatch.advantage
        if config.normalize_advantages == "batch":
            advantage = standardize(advantage)
        policy_term = clipped_policy_loss(
            logprob=new.logprob,
            old_logprob=minibatch.old_logprob,
            advantage=advantage,
            clip_range=hp["clip_range"],
        ).mean()
        value_term = value_loss(
            value=new.value,
            old_value=minibatch.old_value,
            returns=minibatch.returns,
            clip_range_vf=hp.get("clip_range_vf"),
        ).mean()
        entropy = new.entropy.mean()
        total = policy_term + hp["vf_coef"] * value_term - hp["ent_coef"] * entropy
        optimizer.zero_grad()
        total.backward()
        logprobs = {"logprob": new.logprob.detach(), "old_logprob": minibatch.old_logprob}
        limit = KL_TOLERANCE * (hp.get("target_kl") or float("inf"))
        metrics = {
            "train/loss/total": total,
            "train/loss/policy": policy_term,
            "train/loss/value": value_term,
            "train/policy/entropy": entropy,
        }
        stops = float(approximate_kl(**logprobs).mean()) > limit
        return UpdateLosses(total, metrics, logprobs, stops_update=stops)

    def diagnose(samples):
        clipped = clipped_fraction(**samples, clip_range=hp["clip_range"])
        return {
            "train/ppo/approx_kl": float(approximate_kl(**samples).mean()),
            "train/ppo/clip_fraction": float(clipped.mean()),
        }

    return walk_minibatches(
        batch.minibatches(),
        write_gradients=write_gradients,
        diagnose=diagnose,
        optimizer=optimizer,
        parameters=GradientGroups(policy).parameters,
        max_grad_norm=hp.get("max_grad_norm"),
    )


def assert_same_state(policy, optimizer, other, other_optimizer, *, tolerance=5e-5):
    """Compare weights to a twentieth of a step: Adam takes whole steps for the tiniest gradient."""
    for (name, a), b in zip(policy.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=tolerance, msg=lambda m, n=name: n + m)
        state, other_state = optimizer.state[a], other_optimizer.state[b]
        assert list(state) == list(other_state)
        for key, tensor in state.items():
            assert tensor.dtype == other_state[key].dtype
            torch.testing.assert_close(tensor, other_state[key], rtol=1e-4, atol=1e-6)


def run_both(policy, batch, *, config=None, **hp):
    """Run reference and compiled update from the same state and compare all that they leave."""
    config = config or make_config()
    hp = HYPERPARAMETERS | hp
    other = copy.deepcopy(policy)
    optimizer, other_optimizer = make_optimizer(policy, config), make_optimizer(other, config)
    expected = reference_update(policy, batch, hp, config=config, optimizer=optimizer)
    report = compile_update(other, config).update(batch, hp, optimizer=other_optimizer)
    if len(expected.norms):
        assert_same_state(policy, optimizer, other, other_optimizer)
    assert report.keys == expected.keys
    torch.testing.assert_close(report.rows.float(), expected.rows, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(report.norms, expected.norms, rtol=1e-4, atol=1e-6)
    for key, value in expected.summary.items():
        assert report.summary[key] == pytest.approx(value, rel=1e-3, abs=1e-6)
    return report


@pytest.mark.parametrize(
    "shape",
    [
        {"n_actions": 2},
        {"n_actions": 5, "n_inputs": 7, "hidden_dims": (48,), "activation": "relu"},
        {"n_actions": 18, "n_inputs": 1, "hidden_dims": (7, 130)},
        {"n_actions": 1, "n_inputs": 3, "is_box": True},
        {"n_actions": 3, "is_box": True, "hidden_dims": (33, 20, 100)},
        {"n_actions": 2, "is_box": True, "hidden_dims": (16, 16), "activation": "relu"},
    ],
    ids=str,
)
def test_a_whole_update_is_the_reference_s(shape):
    policy = make_policy(**shape)
    batch = make_batch(make_rollout(policy), batch_size=32, n_passes=5)
    report = run_both(policy, batch)
    assert report.rows.shape == (20, 4)
    assert report.norms.shape[0] == 20


@pytest.mark.parametrize("batch_size", [1, 3, 64, 96, 192])
def test_minibatches_of_any_size(batch_size):
    """One sample, less than a block, exactly one, and everything without picking."""
    policy = make_policy(hidden_dims=(24, 24))
    buffer = make_rollout(policy, n_steps=24, n_envs=8)
    batch = make_batch(buffer, batch_size=batch_size, n_passes=1)
    batch = type(batch)(batch.hook, batch.index_table[:4], buffer)
    run_both(policy, batch)


@pytest.mark.parametrize(
    "hp",
    [
        {"clip_range_vf": 0.1},
        {"clip_range_vf": 0.0},
        {"ent_coef": 0.0, "vf_coef": 1.7, "clip_range": 0.05},
        {"max_grad_norm": None},
        {"max_grad_norm": 1e-3},
        {"clip_range": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_box", [False, True])
def test_every_hyperparameter_has_its_effect(hp, is_box):
    policy = make_policy(is_box=is_box, hidden_dims=(32, 32))
    run_both(policy, make_batch(make_rollout(policy), batch_size=64, n_passes=2), **hp)


@pytest.mark.parametrize(
    ("optimizer", "kwargs"),
    [
        ("AdamW", {"weight_decay": 0.3, "betas": [0.8, 0.9], "eps": 1e-4}),
        ("Adam", {}),
        ("Adam", {"weight_decay": 0.3, "eps": 1e-3, "betas": [0.5, 0.99]}),
        ("Adam", {"weight_decay": 0.3, "decoupled_weight_decay": True}),
        ("AdamW", {"foreach": True, "amsgrad": False}),
    ],
    ids=str,
)
def test_optimisers_and_their_options(optimizer, kwargs):
    policy = make_policy(hidden_dims=(16,))
    config = make_config(optimizer=optimizer, optimizer_kwargs=kwargs)
    run_both(policy, make_batch(make_rollout(policy), batch_size=64, n_passes=4), config=config)


@pytest.mark.parametrize("mode", ["batch", "rollout", "none"])
def test_only_advantages_of_a_batch_are_standardised_here(mode):
    policy = make_policy(hidden_dims=(16,))
    config = make_config(normalize_advantages=mode)
    run_both(policy, make_batch(make_rollout(policy), batch_size=32, n_passes=1), config=config)


def test_advantages_without_variation_teach_nothing():
    policy = make_policy(hidden_dims=(16,))
    buffer = make_rollout(policy)
    buffer.samples.advantage.fill_(0.1)
    report = run_both(policy, make_batch(buffer, batch_size=64, n_passes=1), ent_coef=0.0)
    assert report.rows[:, 1].tolist() == [0.0, 0.0]


def test_the_update_is_left_before_the_step_that_goes_too_far():
    policy = make_policy()
    batch = make_batch(make_rollout(policy), batch_size=32, n_passes=10)
    config = make_config()
    hp = HYPERPARAMETERS | {"target_kl": 0.03, "ent_coef": 0.0}
    other = copy.deepcopy(policy)
    optimizer, other_optimizer = make_optimizer(policy, config), make_optimizer(other, config)
    expected = reference_update(policy, batch, hp, config=config, optimizer=optimizer)
    report = compile_update(other, config).update(batch, hp, optimizer=other_optimizer)
    assert 0 < len(report.norms) < len(batch.index_table)
    assert len(report.rows) == len(report.norms) + 1 == len(expected.rows)
    assert report.summary["train/ppo/kl_stopped"] == 1.0
    assert_same_state(policy, optimizer, other, other_optimizer)


def test_an_update_that_never_begins_changes_nothing():
    policy = make_policy()
    batch = make_batch(make_rollout(policy), batch_size=32, n_passes=1)
    before = copy.deepcopy(policy.state_dict())
    optimizer = make_optimizer(policy, make_config())
    report = compile_update(policy, make_config()).update(
        batch, HYPERPARAMETERS | {"target_kl": 1e-6}, optimizer=optimizer
    )
    assert (len(report.rows), len(report.norms)) == (1, 0)
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert all(float(state["step"]) == 0.0 for state in optimizer.state.values())


def test_ways_may_change_between_updates_and_over_a_checkpoint():
    """Reference, compiled, saved and loaded, reference: as if nothing had changed."""
    policy, config = make_policy(), make_config()
    other = copy.deepcopy(policy)
    optimizer, other_optimizer = make_optimizer(policy, config), make_optimizer(other, config)
    compiled = compile_update(other, config)
    for k in range(4):
        batch = make_batch(make_rollout(policy), batch_size=64, n_passes=2)
        lr = 1e-3 * (1.0 - 0.2 * k)
        for some_optimizer in (optimizer, other_optimizer):
            some_optimizer.param_groups[0]["lr"] = lr
        reference_update(policy, batch, HYPERPARAMETERS, config=config, optimizer=optimizer)
        if k % 2:
            compiled.update(batch, HYPERPARAMETERS, optimizer=other_optimizer)
        else:
            reference_update(
                other, batch, HYPERPARAMETERS, config=config, optimizer=other_optimizer
            )
        saved = copy.deepcopy(other_optimizer.state_dict())
        other_optimizer = make_optimizer(other, config)
        other_optimizer.load_state_dict(saved)
    assert_same_state(policy, optimizer, other, other_optimizer)


@pytest.mark.parametrize("field", ["advantage", "returns", "old_logprob", "observation"])
def test_numbers_that_are_not_finite_are_seen(field):
    policy = make_policy()
    buffer = make_rollout(policy)
    getattr(buffer.samples, field).view(-1)[5] = float("nan")
    batch = make_batch(buffer, batch_size=64, n_passes=1)
    report = compile_update(policy, make_config()).update(
        batch, HYPERPARAMETERS, optimizer=make_optimizer(policy, make_config())
    )
    found = find_divergence(report)
    assert found is not None
    assert found[0].startswith("train/loss/")
    position = int((batch.index_table == 5 // buffer.samples.observation.shape[1]).nonzero()[0, 0])
    assert field != "observation" or found[2] == position


@pytest.mark.parametrize(
    ("policy", "config", "reason"),
    [
        ({}, {"optimizer": "SGD"}, "SGD"),
        ({}, {"optimizer_kwargs": {"amsgrad": True}}, "amsgrad"),
        ({}, {"optimizer_kwargs": {"eps": 0}}, "eps"),
        ({"share_trunk": True}, {}, "share"),
        ({"activation": "gelu"}, {}, "gelu"),
    ],
)
def test_what_it_does_not_know_it_says(policy, config, reason):
    policy, config = make_policy(**policy), make_config(**config)
    assert reason in why_not(policy, config)
    assert compile_update(policy, config) is None
