"""Updates as captured graphs against those that launch every operation by itself."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from agents import captured_replay
from agents.captured_replay import CapturedUpdates, why_not_captured
from agents.replay_agent import ReplayAgent
from agents.replay_update import N_AT_ONCE, ReplayUpdate
from tests.helpers.agents import make_agent, train_epochs
from tests.helpers.recorded_operations import READS_A_NUMBER, recorded
from utils.buffers import Place
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
    "rainbow of pictures": (
        "Picture",
        {"algo_id": "dqn", "env_kwargs": {"shape": [1, 36, 36]}, "frame_stack": 4} | RAINBOW,
    ),
}


@pytest.fixture(autouse=True)
def same_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let graphs convolve in the way that single calls take: the fastest one rounds otherwise."""
    monkeypatch.setattr(captured_replay, "_chosen_convolutions", nullcontext)


def tolerance(name: str) -> dict[str, float]:
    """Say how far weights may be apart after some fifty steps of a thousandth.

    What rounds in another order, as gradients of convolutions do from call to call, may turn the
    first steps of a weight whose gradient is near 0.
    """
    return {"rtol": 1e-2, "atol": 3e-3} if "pictures" in name else {"rtol": 1e-3, "atol": 1e-5}


def build(name: str, **more):
    env_id, changes = VARIANTS[name]
    return make_agent(env_id, **(REPLAY | changes | more))


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("learns_meanwhile", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_captured_updates_are_the_eager_ones(name, learns_meanwhile, monkeypatch) -> None:
    ours, theirs = build(name, device="cuda"), build(name, device="cuda")
    monkeypatch.setattr(type(ours), "learns_meanwhile", learns_meanwhile)
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
            torch.testing.assert_close(mine.state_dict()[key], value, **tolerance(name))
    for mine, other in zip(*rows, strict=True):
        assert mine.keys() == other.keys()
        for key in mine:
            if "/time/" not in key:
                assert mine[key] == pytest.approx(other[key], rel=1e-2, abs=1e-3), key


@pytest.mark.gpu
@on_cuda
def test_graphs_with_chosen_convolutions_learn_what_others_do(monkeypatch) -> None:
    theirs = build("rainbow of pictures", device="cuda")
    expected = train_epochs(theirs, 3)[-1]
    monkeypatch.undo()
    ours = build("rainbow of pictures", device="cuda")
    assert ours.policy.encoder.cnn.convolutions[0].weight.stride(1) == 1, "channels last"
    told = train_epochs(ours, 3)[-1]
    assert not torch.backends.cudnn.benchmark, "as it was before"
    assert told["train/loss/total"] == pytest.approx(expected["train/loss/total"], rel=0.05)


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", VARIANTS)
def test_the_host_waits_for_no_update(name) -> None:
    agent = build(name, device="cuda")
    train_epochs(agent, 3)
    assert agent.captured is not None
    agent.captured.make_updates(6)  # every kind is captured by now
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        agent.captured.make_updates(6)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert agent.log.flush()[1] is None


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", ["sac with priorities", "rainbow", "rainbow of pictures"])
def test_graphs_see_a_buffer_that_grows_and_goes_round(name) -> None:
    ours, theirs = build(name, device="cuda"), build(name, device="cuda")
    theirs.__dict__["captured"] = None
    for agent in (ours, theirs):
        train_epochs(agent, 3)
        assert len(agent.source.buffer) < agent.source.buffer.capacity
    n_captures = ours.captured.n_captures
    for _ in range(12):
        for agent in (ours, theirs):
            agent.source.collector.collect(16, is_random=True, write=agent.source._write)
            agent.make_updates(2)
    assert ours.captured.n_captures == n_captures
    priorities = [agent.source.buffer.priorities for agent in (ours, theirs)]
    mine, other = ((p.tree.leaves.cpu(), p.highest.cpu()) for p in priorities)
    torch.testing.assert_close(mine, other, rtol=3e-2, atol=3e-3)
    for part, whole in zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True):
        torch.testing.assert_close(part, whole, **tolerance(name))


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", ["sac", "td3", "rainbow", "rainbow of pictures"])
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
        torch.testing.assert_close(mine, other, **tolerance(name))


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", ["sac", "td3", "dqn", "rainbow"])
def test_captured_choices_are_the_eager_ones(name) -> None:
    ours, theirs = build(name, device="cuda"), build(name, device="cuda")
    observation = theirs.train_env.single_observation_space
    for agent in (ours, theirs):
        train_epochs(agent, 3)  # captured in inference mode, after updates with the same generator
    for place in (theirs, theirs.source.collector.explorer):
        for name_of_call in ("_captured", "_captured_best", "_on_host"):
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
    update = ReplayUpdate(agent)
    update.set_numbers()
    assert (float(update.rate), float(update.limit)) == (pytest.approx(1e-3), 0.5)
    with update.numbers_on_device():
        assert agent.hyperparameters["max_grad_norm"] is update.limit
        assert all(o.param_groups[0]["lr"] is update.rate for o in agent.optimizers.values())
    assert agent.hyperparameters["max_grad_norm"] == 0.5
    without = build("sac")
    with ReplayUpdate(without).numbers_on_device():
        assert "max_grad_norm" not in without.hyperparameters


@pytest.fixture
def by_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let buffers and agents do their work by the operations of other devices."""
    monkeypatch.setattr(Place, "is_ordinary", False)
    for algorithm in ("dqn", "sac"):
        name = f"agents.{algorithm}.{algorithm}_compiled.why_not_compiled"
        monkeypatch.setattr(name, lambda *_: "as on other devices")


def build_pair(name: str) -> tuple[ReplayAgent, ReplayAgent]:
    """Build two agents that have learnt the same for three epochs, one operation at a time."""
    pair = build(name), build(name)
    for agent in pair:
        assert isinstance(agent, ReplayAgent)
        assert getattr(agent, "compiled", None) is None
        train_epochs(agent, 3)
    return pair


def run_one(agent: ReplayAgent, update: ReplayUpdate) -> None:
    update.load(1)
    update.run()
    agent.count_update()
    agent.log.add_rows(update.keys, update.said(1))


def assert_same(ours: ReplayAgent, theirs: ReplayAgent) -> None:
    pairs = [(ours.policy, theirs.policy)]
    pairs += [(network, theirs.networks[key]) for key, network in ours.networks.items()]
    for mine, other in pairs:
        for key, value in other.state_dict().items():
            torch.testing.assert_close(mine.state_dict()[key], value, rtol=1e-4, atol=1e-6)
    if theirs.source.buffer.priorities is not None:
        of_both = (agent.source.buffer.priorities.tensors() for agent in (ours, theirs))
        for mine, other in zip(*of_both, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-6)
    told, _ = ours.log.flush()
    expected, _ = theirs.log.flush()
    assert told == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.usefixtures("by_tensors")
@pytest.mark.parametrize("name", VARIANTS)
def test_what_graphs_hold_is_the_eager_update(name) -> None:
    ours, theirs = build_pair(name)
    update = ReplayUpdate(ours)
    update.set_numbers()
    if ours.config.prioritized_replay:
        for _ in range(6):
            run_one(ours, update)
    else:  # the indices of all are drawn at once
        update.load(6)
        for _ in range(6):
            update.run()
            ours.count_update()
        ours.log.add_rows(update.keys, update.said(6))
    theirs.make_updates_one_by_one(6)
    assert_same(ours, theirs)


@pytest.mark.usefixtures("by_tensors")
@pytest.mark.parametrize("name", ["sac", "sac with priorities", "rainbow", "rainbow of pictures"])
def test_a_graph_reads_all_that_changes_from_tensors(name) -> None:
    """What was recorded while the buffer was small goes on once it has been filled twice over."""
    ours, theirs = build_pair(name)
    update = ReplayUpdate(ours)
    update.set_numbers()
    update.load(1)
    with recorded() as operations:
        update.run()
    ours.log.add_rows(update.keys, update.said(1))
    theirs.make_updates_one_by_one(1)
    assert not set(operations.names()) & set(READS_A_NUMBER)
    assert operations.brought_numbers() == []
    assert len(ours.source.buffer) < ours.source.buffer.capacity
    for epoch in range(20):
        for agent in (ours, theirs):
            agent.source.collector.collect(8, is_random=True, write=agent.source._write)
            if "importance_exponent" in agent.hyperparameters:
                agent.hyperparameters["importance_exponent"] = 0.4 + 0.03 * epoch
        update.set_numbers()
        update.load(1)
        operations.replay()
        ours.log.add_rows(update.keys, update.said(1))
        theirs.make_updates_one_by_one(1)
    assert ours.source.buffer.n_added > 2 * ours.source.buffer.capacity
    assert_same(ours, theirs)


@pytest.mark.usefixtures("by_tensors")
@pytest.mark.parametrize(
    ("name", "most"),
    [("sac", 148), ("sac with priorities", 195), ("td3", 80), ("rainbow of pictures", 340)],
)
def test_an_update_is_of_few_operations(name, most) -> None:
    """On a GPU it costs what their number is, as long as networks are small."""
    agent = build(name)
    train_epochs(agent, 2)
    update = ReplayUpdate(agent)
    update.load(1)
    with recorded() as operations:
        update.run()
    assert operations.n_launches() <= most


@pytest.mark.usefixtures("by_tensors")
def test_more_updates_than_are_made_ready_for_at_once_are_all_made() -> None:
    agent = build("dqn")
    train_epochs(agent, 3)
    captured = CapturedUpdates.__new__(CapturedUpdates)
    captured._agent, captured._update = agent, ReplayUpdate(agent)
    captured._prepared_for, captured._captured_for = (), ()
    captured._graphs = {None: SimpleNamespace(replay=captured._update.run)}
    captured._key = lambda: ()
    captured.make_updates(N_AT_ONCE + 3)
    assert agent.log.n_updates == N_AT_ONCE + 3
    other = build("dqn")
    train_epochs(other, 3)
    other.make_updates_one_by_one(N_AT_ONCE)
    other.make_updates_one_by_one(3)
    assert_same(agent, other)


def test_what_keeps_updates_from_being_captured_is_named() -> None:
    assert why_not_captured(build("sac")) == "device is cpu"
    assert build("sac").captured is None
