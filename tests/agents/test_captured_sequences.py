"""Updates from sequences as one graph against those that launch every operation by itself."""

from __future__ import annotations

import pytest
import torch

from agents.captured_sequences import CapturedSequences, SequenceUpdate, why_not_captured
from tests.helpers.agents import make_agent, train_epochs
from utils.checkpoints import load_checkpoint, save_checkpoint

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
SMALL = {
    "algo_id": "dreamer",
    "n_envs": 2,
    "max_timesteps": 2000,
    "batch_size": 4,
    "sequence_length": 8,
    "train_ratio": 16.0,
    "imagination_horizon": 3,
    "buffer_steps": 400,
    "steps_per_epoch": 60,
    "lr_warmup_updates": 20,
    "policy_lr": 1e-3,
    "policy_kwargs": {"size": "tiny", "choices": 4},
}
VARIANTS = {
    "choices": ("CartPole-v1", {}),
    "box": ("Pendulum-v1", {}),
    "second version": ("CartPole-v1", {"version": 2, "learning_starts_timesteps": 40}),
    "first version": ("Pendulum-v1", {"version": 1, "learning_starts_timesteps": 40}),
}
OLD_SHAPE = {"deter": 32, "hidden": 32, "units": 16, "choices": 4}


def build(name: str, **more):
    env_id, changes = VARIANTS[name]
    settings = SMALL | changes | more
    if "version" in changes:
        classes = {"classes": 4} if changes["version"] == 2 else {}
        settings["policy_kwargs"] = OLD_SHAPE | classes
    return make_agent(env_id, **settings)


@pytest.mark.parametrize("name", VARIANTS)
def test_an_update_of_device_operations_is_the_reference(name) -> None:
    ours, theirs = build(name), build(name)
    for agent in (ours, theirs):
        train_epochs(agent, 1)
    theirs.make_updates_one_by_one(4)
    update = SequenceUpdate(ours)
    for _ in range(4):
        update.load()
        with update.rates_on_device():
            keys, row = update.run()
        ours.log.add_rows(keys, row.unsqueeze(0))
    # Adam rounds otherwise where its rate is a tensor.
    assert ours.log.flush()[0] == pytest.approx(theirs.log.flush()[0], rel=1e-3, abs=1e-6)
    for key, value in theirs.policy.state_dict().items():
        torch.testing.assert_close(ours.policy.state_dict()[key], value, rtol=1e-4, atol=1e-5)
    for key, store in theirs.source.buffer.state.items():
        mine = ours.source.buffer.state[key]
        torch.testing.assert_close(mine.flat[:-1], store.flat[:-1], rtol=1e-4, atol=1e-5)


def test_an_update_that_is_only_tried_changes_no_row_of_the_buffer() -> None:
    agent = build("choices")
    train_epochs(agent, 2)
    update, stores = SequenceUpdate(agent), agent.source.buffer.state
    update.load()
    before = {key: store.flat.clone() for key, store in stores.items()}
    update.load_nothing()
    update.run()
    for key, store in stores.items():
        assert torch.equal(store.flat[:-1], before[key][:-1]), key


def test_learning_rates_are_put_back() -> None:
    agent = build("first version")
    update = SequenceUpdate(agent)
    agent.set_rates()
    with update.rates_on_device():
        assert all(torch.is_tensor(group["lr"]) for group in update._groups)
    assert [group["lr"] for group in update._groups] == pytest.approx(
        [1e-3 / 20, 8e-5 / 20, 8e-5 / 20]  # the first of 20 updates of the warm-up
    )


def test_what_keeps_updates_from_being_captured_is_named() -> None:
    assert why_not_captured(build("choices")) == "device is cpu"
    assert build("choices").captured is None


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", VARIANTS)
def test_captured_updates_are_the_eager_ones(name) -> None:
    """Compared soon after states that are the same: what is drawn in dreams may flip by a bit."""
    ours, theirs = (build(name, device="cuda", precision="float32") for _ in range(2))
    rows = [train_epochs(agent, 2) for agent in (ours, theirs)]
    losses = [[v for k, v in of_one[1].items() if "/loss/" in k] for of_one in rows]
    assert losses[0] == losses[1], "the same so far"
    theirs.__dict__["captured"] = None
    assert isinstance(ours.captured, CapturedSequences), why_not_captured(ours)
    for agent in (ours, theirs):
        agent.make_updates(4)
    told, expected = (agent.log.flush()[0] for agent in (ours, theirs))
    assert told == pytest.approx(expected, rel=2e-2, abs=1e-3)
    for mine, other in zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-2, atol=1e-3)
    rows = [train_epochs(agent, 1)[0] for agent in (ours, theirs)]
    assert rows[0].keys() == rows[1].keys()
    assert ours.counters == theirs.counters
    assert ours.counters.updates > 40


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=(pytest.mark.gpu, on_cuda))])
def test_half_precision_gives_nearly_the_losses_of_single_precision(device) -> None:
    """Compared after states that are the same: updates in another precision go other ways."""
    single, half = (build("choices", device=device, precision="float32") for _ in range(2))
    for agent in (single, half):
        train_epochs(agent, 1)
    half.is_half = True
    half.__dict__.pop("captured", None)
    for agent in (single, half):
        agent.make_updates(1)
    expected, told = (agent.log.flush()[0] for agent in (single, half))
    for key, value in expected.items():
        if key.startswith("train/loss"):
            assert told[key] == pytest.approx(value, rel=0.1, abs=0.05), key
    assert told != expected


@pytest.mark.gpu
@on_cuda
def test_what_one_update_said_is_not_overwritten_by_the_next() -> None:
    agent = build("choices", device="cuda")
    train_epochs(agent, 1)
    agent.make_updates(1)
    said = agent.log._rows[-1].clone()
    agent.make_updates(1)
    assert torch.equal(agent.log._rows[-2], said)
    assert not torch.equal(agent.log._rows[-1], said)


@pytest.mark.gpu
@on_cuda
def test_a_loaded_state_is_captured_anew_and_goes_on(tmp_path) -> None:
    settings = {"device": "cuda", "precision": "float32"}
    whole, stopped, resumed = (build("choices", **settings) for _ in range(3))
    train_epochs(whole, 3)
    train_epochs(stopped, 2)
    checkpoint = tmp_path / "epoch=02.ckpt"
    stopped.save_companions(checkpoint)
    save_checkpoint(checkpoint, stopped.checkpoint_state())
    resumed.load_companions(checkpoint)
    assert resumed.load_checkpoint_state(load_checkpoint(checkpoint)) == 0
    train_epochs(resumed, 1)
    assert resumed.counters == whole.counters
    for mine, other in zip(resumed.policy.parameters(), whole.policy.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-2, atol=1e-3)
