"""Updates as captured graphs against those that launch every operation by itself."""

from __future__ import annotations

import pytest
import torch

from agents.captured_replay import CapturedUpdates, why_not_captured
from tests.helpers.agents import make_agent, train_epochs
from utils.checkpoints import load_checkpoint, save_checkpoint

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
REPLAY = {
    "batch_size": 8,
    "learning_starts_timesteps": 16,
    "buffer_transitions": 128,
    "steps_per_epoch": 8,
    "max_timesteps": 1000,
    "optimizer": "Adam",
}
RAINBOW = {
    "prioritized_replay": True,
    "n_step": 3,
    "dueling": True,
    "noisy": True,
    "distribution": "c51",
    "v_min": 0.0,
    "v_max": 20.0,
    "n_atoms": 11,
}
VARIANTS = {
    "sac": ("Pendulum-v1", {"algo_id": "sac", "policy_lr": "lin_0.003"}),
    "sac of choices": ("CartPole-v1", {"algo_id": "sac"}),
    "sac with priorities": ("Pendulum-v1", {"algo_id": "sac", "prioritized_replay": True}),
    "td3": ("Pendulum-v1", {"algo_id": "td3", "policy_delay": 3, "max_grad_norm": 0.5}),
    "dqn": ("CartPole-v1", {"algo_id": "dqn"}),
    "rainbow": ("CartPole-v1", {"algo_id": "dqn"} | RAINBOW),
}


def build(name: str, **more):
    env_id, changes = VARIANTS[name]
    return make_agent(env_id, **(REPLAY | changes | more))


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", VARIANTS)
def test_captured_updates_are_the_eager_ones(name) -> None:
    ours, theirs = build(name, device="cuda"), build(name, device="cuda")
    theirs.__dict__["captured"] = None
    rows = [train_epochs(agent, 5) for agent in (ours, theirs)]
    assert isinstance(ours.captured, CapturedUpdates), why_not_captured(ours)
    assert ours.captured.n_captures <= 4
    assert ours.counters == theirs.counters
    assert ours.counters.updates > 40
    modules = {"policy": (ours.policy, theirs.policy)}
    modules |= {key: (part, theirs.networks[key]) for key, part in ours.networks.items()}
    for mine, other in modules.values():
        for key, value in other.state_dict().items():
            torch.testing.assert_close(mine.state_dict()[key], value, rtol=1e-3, atol=1e-5)
    for mine, other in zip(*rows, strict=True):
        assert mine.keys() == other.keys()
        for key in mine:
            if "/time/" not in key:
                assert mine[key] == pytest.approx(other[key], rel=1e-2, abs=1e-4), key


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", ["sac", "td3", "rainbow"])
def test_a_loaded_state_is_captured_anew_and_goes_on(name, tmp_path) -> None:
    whole, stopped, resumed = (build(name, device="cuda") for _ in range(3))
    train_epochs(whole, 6)
    train_epochs(stopped, 4)
    checkpoint = tmp_path / "epoch=04.ckpt"
    stopped.save_companions(checkpoint)
    save_checkpoint(checkpoint, stopped.checkpoint_state())
    resumed.load_companions(checkpoint)
    assert resumed.load_checkpoint_state(load_checkpoint(checkpoint)) == 0
    train_epochs(resumed, 2)
    for mine, other in zip(resumed.policy.parameters(), whole.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-5)


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", ["sac", "td3", "dqn", "rainbow"])
def test_captured_choices_are_the_eager_ones(name) -> None:
    ours, theirs = build(name, device="cuda"), build(name, device="cuda")
    observation = theirs.train_env.single_observation_space
    for agent in (ours, theirs):
        train_epochs(agent, 3)  # captured in inference mode, after updates with the same generator
    for place in (theirs, theirs.source.collector.explorer):
        for name_of_call in ("_captured", "_captured_values"):
            if hasattr(place, name_of_call):
                setattr(place, name_of_call, None)
    explorers = [agent.source.collector.explorer for agent in (ours, theirs)]
    generator = torch.Generator(device="cuda").manual_seed(0)
    for _ in range(20):
        seen = torch.randn((2, *observation.shape), generator=generator, device="cuda")
        with torch.inference_mode():
            mine, other = (
                explorer.decide(seen, mask=None, timesteps=900) for explorer in explorers
            )
        torch.testing.assert_close(mine.stored.cpu(), other.stored.cpu(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_schedule_is_no_constant_of_a_graph(name) -> None:
    agent = build(name, max_grad_norm=0.5)
    updates = CapturedUpdates.__new__(CapturedUpdates)
    updates._agent = agent
    key = updates._key()
    for setting in agent.hyperparameters:
        agent.hyperparameters[setting] *= 0.5
    assert updates._key() == key


def test_graphs_read_rates_and_the_bound_of_the_norm_from_memory() -> None:
    agent = build("td3")
    updates = CapturedUpdates.__new__(CapturedUpdates)
    updates._agent, updates._rate, updates._limit = agent, torch.tensor(0.01), torch.tensor(0.25)
    with updates._numbers_on_device():
        assert agent.hyperparameters["max_grad_norm"] is updates._limit
        assert all(o.param_groups[0]["lr"] is updates._rate for o in agent.optimizers.values())
    assert agent.hyperparameters["max_grad_norm"] == 0.5
    without = build("sac")
    updates._agent = without
    with updates._numbers_on_device():
        assert "max_grad_norm" not in without.hyperparameters


def test_what_keeps_updates_from_being_captured_is_named() -> None:
    assert why_not_captured(build("sac")) == "device is cpu"
    assert build("sac").captured is None
