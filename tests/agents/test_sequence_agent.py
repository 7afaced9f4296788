"""What agents share that learn from replayed sequences: pairing, memory, rates, going on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.helpers.agents import train_epochs
from tests.helpers.saved_states import state_differences
from tests.helpers.sequence_agents import fill, learn_once, make_dreamer, make_sequence_agent
from utils.checkpoints import load_checkpoint, save_checkpoint

AGENTS = {
    "dreamer": {"algo_id": "dreamer"},
    "box": {"algo_id": "dreamer", "env_id": "Pendulum-v1", "exploration_noise": 0.1},
    "v1": {"algo_id": "dreamer", "env_id": "Pendulum-v1", "version": 1},
    "v2": {"algo_id": "dreamer", "version": 2, "slow_critic_every_updates": 7},
    "planet": {"algo_id": "planet"},
}


@pytest.mark.parametrize("context", [0, 1])
@pytest.mark.parametrize("is_random", [True, False])
def test_what_is_seen_follows_what_was_done_a_step_before(context, is_random) -> None:
    agent = make_dreamer(replay_context=context, sequence_length=8)
    fill(agent, 60, is_random=is_random)
    n_compared = 0
    for _ in range(40):
        batch = agent.prepare(agent.source.sample())
        # The environment shows the last action, and zeros where an episode begins.
        known = ~batch.is_first
        if not context:
            known[0] = False  # nobody knows what came before
        assert torch.equal(batch.observation[known], batch.previous_action[known])
        assert (batch.observation[batch.is_first] == 0).all()
        assert torch.equal(batch.reward[known], batch.observation[known] @ torch.arange(4.0))
        n_compared += int(known.sum())
    assert n_compared > 300


def test_a_sequence_goes_on_from_the_step_before_it() -> None:
    agent = make_dreamer()
    fill(agent, 60, is_random=False)
    raw = agent.source.sample()
    batch = agent.prepare(raw)
    encoded = agent.policy.code.encode(raw.action).transpose(0, 1)
    assert torch.equal(batch.previous_action[0], encoded[0])
    assert torch.equal(batch.before.deter, raw.state["deter"][:, 0])
    assert batch.is_first.shape == (6, 2)
    assert torch.equal(batch.is_first, raw.is_first[:, 1:].T)  # the start of a draw is none
    observed = agent.observe(batch)
    agent.source.buffer.write_state(raw.index[:, 1:], agent.fields_of(observed.state))
    again = agent.source.buffer.gather(raw.index[:, 0])
    torch.testing.assert_close(again.state["deter"][:, 1:], observed.state.deter.transpose(0, 1))
    stoch = agent.policy.world_model.rssm.latent.unpack(again.state["stoch"][:, 1:])
    torch.testing.assert_close(stoch, observed.state.stoch.detach().transpose(0, 1))


def test_an_update_renews_what_is_remembered() -> None:
    agent = make_dreamer()
    fill(agent, 60, is_random=False)
    before = agent.source.buffer.state["deter"].flat.clone()
    agent.make_updates(1)
    changed = (agent.source.buffer.state["deter"].flat != before).any(dim=1)
    assert 6 <= int(changed.sum()) <= 12  # two sequences of six, which may overlap


def shifted(batch, n):
    return batch._replace(previous_action=batch.previous_action.roll(n, dims=0))


def test_only_the_right_pairing_of_actions_and_observations_can_be_predicted() -> None:
    """What the prior expects of the next observation, by actions as they were and a step off."""

    def error(n_shifted):
        agent = make_dreamer(
            batch_size=8,
            sequence_length=8,
            policy_lr=5e-3,
            policy_kwargs={"deter": 32, "units": 32},
            train_ratio=64.0,
        )
        agent.hooks = ("update_world_model",)
        fill(agent, 150)
        for _ in range(150):
            batch = shifted(agent.prepare(agent.source.sample()), n_shifted)
            agent.set_rates()
            agent.learn_from_sequences(batch)
        model = agent.policy.world_model
        batch = shifted(agent.prepare(agent.source.sample()), n_shifted)
        with torch.no_grad():
            observed = agent.observe(batch)
            stoch = model.rssm.latent.sample(observed.prior, None)
            features = torch.cat([observed.state.deter, stoch], dim=-1)
            missed = model.decoder.loss(model.decoder(features), batch.observation)["vector"]
        return float(missed[1:][~batch.is_first[1:]].mean())

    # symlog of one-hot vectors among four, predicted by nothing: 0.48 * 3 / 4 = 0.36.
    assert error(0) < 0.05
    assert error(1) > 0.15


def test_rates_rise_from_the_first_update_on() -> None:
    agent = make_dreamer(lr_warmup_updates=4, policy_lr=8e-3, actor_lr=4e-3)
    fill(agent)
    rates = []
    for _ in range(6):
        agent.make_updates(1)
        rates.append([group["lr"] for group in agent.optimizers["all"].param_groups])
    expected = [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    np.testing.assert_allclose([r[0] for r in rates], [8e-3 * w for w in expected])
    np.testing.assert_allclose([r[1] for r in rates], [4e-3 * w for w in expected])


def record_losses(agent) -> list[dict[str, float]]:
    """Return a list that grows by what each update says, the whole of it."""
    rows: list[dict[str, float]] = []
    add = agent.log.add

    def listen(metrics):
        rows.append({key: float(value) for key, value in metrics.items()})
        add(metrics)

    agent.log.add = listen
    return rows


def saved(agent, path):
    agent.save_companions(path)
    save_checkpoint(path, agent.checkpoint_state())


@pytest.mark.parametrize("name", AGENTS)
def test_a_killed_run_goes_on_bit_for_bit(name, tmp_path) -> None:
    agent = make_sequence_agent(**AGENTS[name])
    train_epochs(agent, 2)
    path = tmp_path / "epoch=02.ckpt"
    saved(agent, path)
    straight = record_losses(agent)
    train_epochs(agent, 1)
    assert len(straight) == 20

    resumed = make_sequence_agent(**AGENTS[name])
    assert resumed.load_companions(path) is None
    assert resumed.load_checkpoint_state(load_checkpoint(path)) == 0
    rows = record_losses(resumed)
    train_epochs(resumed, 1)
    assert rows == straight
    assert state_differences(resumed.checkpoint_state(), agent.checkpoint_state()) == []


@pytest.mark.parametrize("name", ["dreamer", "planet"])
def test_without_the_buffer_nothing_is_owed(name, tmp_path) -> None:
    changes = {"env_id": "Pendulum-v1", "save_replay": False, "learning_starts_timesteps": 30}
    settings = {**AGENTS[name], **changes}
    agent = make_sequence_agent(**settings)
    train_epochs(agent, 3)
    assert agent.counters.updates == 60 - 30
    path = tmp_path / "epoch=03.ckpt"
    saved(agent, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]

    resumed = make_sequence_agent(**settings)
    assert "filled for 30 timesteps before learning goes on" in resumed.load_companions(path)
    resumed.load_checkpoint_state(load_checkpoint(path))
    assert resumed.counters.updates == 30
    updates = []
    for _ in range(3):
        before = resumed.counters.updates
        train_epochs(resumed, 1)
        updates.append(resumed.counters.updates - before)
    assert updates == [0, 10, 20]
    assert resumed.counters.timesteps == 120


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_says_what_it_does(name) -> None:
    agent = make_sequence_agent(**AGENTS[name])
    lines = agent.describe_learning()
    assert lines[0].startswith("replay: 400 steps (")
    assert "an update of 2 x 6 for every 1 timesteps" in lines[0]
    n_parameters = sum(p.numel() for p in agent.policy.parameters())
    assert lines[1] == f"model: {n_parameters:,} parameters, float32"  # no size that has a name
    fill(agent)
    assert np.isfinite(list(map(float, learn_once(agent).values()))).all()
