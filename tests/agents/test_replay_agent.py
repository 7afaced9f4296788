"""The life of an agent that learns from a replay buffer."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch import Callback

from agents.dqn.dqn_agent import DQNAgent
from agents.replay_setup import find_place
from tests.helpers.agents import begin, make_agent, train_epochs
from tests.helpers.saved_states import all_finite, state_differences
from trainer_callbacks import HyperparameterScheduler
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.errors import CheckpointError, ConfigError, DivergedError, RunFailedError
from utils.metrics import Counters
from utils.trainer_factory import build_trainer

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


def make(env_id: str = "CartPole-v1", **changes):
    return make_agent(env_id, algo_id="dqn", **changes)


def timeless(rows):
    return [{key: v for key, v in row.items() if "/time/" not in key} for row in rows]


def test_counters_count_what_was_done() -> None:
    agent = make("Counting", env_kwargs={"length": 5}, max_timesteps=1000)
    train_epochs(agent, 3)
    # 24 vector steps of 2 environments; an update for each timestep after the 16th.
    assert agent.counters == Counters(epoch=3, timesteps=48, vec_steps=24, updates=32, episodes=8)


def test_metrics_without_a_value_are_absent_and_all_are_numbers() -> None:
    rows = train_epochs(make("Counting", env_kwargs={"length": 12}, max_timesteps=1000), 3)
    assert "train/loss/total" not in rows[0]
    assert "train/roll/ep_rew_mean" not in rows[0]
    assert rows[1]["train/roll/ep_rew_mean"] == 12
    assert {"train/loss/total", "train/dqn/q_mean", "train/dqn/td_error"} <= rows[2].keys()
    assert rows[2]["train/replay/n_transitions"] == 48
    assert all_finite(rows)


@pytest.mark.parametrize("settings", [{}, RAINBOW], ids=["dqn", "rainbow"])
def test_lightning_trains_what_a_bare_loop_trains(settings) -> None:
    class StopAfter(Callback):
        rows: list[dict[str, float]] = []  # noqa: RUF012 - emptied below

        def on_train_epoch_end(self, trainer, pl_module):
            self.rows.append(pl_module.recorder.flush())
            if pl_module.counters.epoch == 3:
                pl_module.request_stop("enough")

    bare = make(max_timesteps=1000, **settings)
    rows = train_epochs(bare, 3)
    driven = make(max_timesteps=1000, **settings)
    stop = StopAfter()
    stop.rows.clear()
    build_trainer(device="cpu", callbacks=[HyperparameterScheduler(), stop]).fit(driven)
    assert driven.counters == bare.counters
    assert state_differences(driven.checkpoint_state(), bare.checkpoint_state()) == []
    assert timeless(stop.rows) == timeless(rows)


@pytest.mark.parametrize(
    "settings",
    [
        {"normalize_obs": "rolling"},
        RAINBOW,
        {"target_update_timesteps": None, "target_tau": 0.01, "vectorization": "sync"},
        {"env_id": "FrozenLake-v1", "double": False},
    ],
    ids=["dqn", "rainbow", "soft", "one-hot"],
)
def test_a_saved_state_goes_on_as_if_it_had_never_stopped(settings, tmp_path) -> None:
    settings = dict(settings)
    env_id = settings.pop("env_id", "CartPole-v1")
    agent = make(env_id, max_timesteps=1000, **settings)
    train_epochs(agent, 4)
    path = tmp_path / "epoch=04.ckpt"
    agent.save_companions(path)
    save_checkpoint(path, agent.checkpoint_state())
    straight = train_epochs(agent, 3)

    resumed = make(env_id, max_timesteps=1000, **settings)
    assert resumed.load_companions(path) is None
    assert resumed.load_checkpoint_state(load_checkpoint(path)) == 0
    assert timeless(train_epochs(resumed, 3)) == timeless(straight)
    assert state_differences(resumed.checkpoint_state(), agent.checkpoint_state()) == []


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let updates be made as on a GPU: while environments take the last step of a round."""
    monkeypatch.setattr(DQNAgent, "learns_meanwhile", True)


@pytest.mark.usefixtures("meanwhile")
def test_what_is_learnt_meanwhile_is_counted_alike_and_knows_all_but_the_last_step() -> None:
    agent = make("Counting", env_kwargs={"length": 5}, max_timesteps=1000, train_every_vec_steps=2)
    known = []
    run_round = agent.run_round
    agent.run_round = lambda due: (known.append(agent.source.buffer.n_added), run_round(due))
    train_epochs(agent, 3)
    assert agent.counters == Counters(epoch=3, timesteps=48, vec_steps=24, updates=32, episodes=8)
    # Eight vector steps of two environments fill the buffer; then come rounds of two, of which the
    # second is not stored yet.
    assert known == [2 * (8 + 2 * i + 1) for i in range(8)]
    assert agent.source.buffer.n_added == 48


@pytest.mark.usefixtures("meanwhile")
def test_a_run_that_learns_meanwhile_goes_on_as_if_it_had_never_stopped(tmp_path) -> None:
    settings = {"max_timesteps": 1000, "target_update_timesteps": 20, **RAINBOW}
    whole, stopped, resumed = (make(**settings) for _ in range(3))
    train_epochs(whole, 5)
    train_epochs(stopped, 3)
    checkpoint = tmp_path / "epoch=03.ckpt"
    stopped.save_companions(checkpoint)
    save_checkpoint(checkpoint, stopped.checkpoint_state())
    assert resumed.load_companions(checkpoint) is None
    assert resumed.load_checkpoint_state(load_checkpoint(checkpoint)) == 0
    train_epochs(resumed, 2)
    assert state_differences(resumed.checkpoint_state(), whole.checkpoint_state()) == []


def test_without_its_buffer_a_run_says_so_and_owes_nothing(tmp_path) -> None:
    agent = make(max_timesteps=1000, save_replay=False, learning_starts_timesteps=32)
    train_epochs(agent, 10)
    assert agent.counters.updates == 160 - 32
    path = tmp_path / "epoch=10.ckpt"
    agent.save_companions(path)
    assert list(tmp_path.iterdir()) == []
    save_checkpoint(path, agent.checkpoint_state())

    resumed = make(max_timesteps=1000, save_replay=False, learning_starts_timesteps=32)
    note = resumed.load_companions(path)
    assert note == (
        "no replay buffer is saved beside epoch=10.ckpt: an empty one is filled for 32 timesteps "
        "before learning goes on"
    )
    resumed.load_checkpoint_state(load_checkpoint(path))
    updates = []
    for _ in range(4):
        before = resumed.counters.updates
        train_epochs(resumed, 1)
        updates.append(resumed.counters.updates - before)
    assert updates == [0, 0, 16, 16]


def test_a_damaged_buffer_is_told_with_what_can_be_done(tmp_path) -> None:
    agent = make()
    train_epochs(agent, 1)
    path = tmp_path / "epoch=01.ckpt"
    path.touch()
    agent.save_companions(path)
    buffer = tmp_path / "epoch=01.replay"
    buffer.write_bytes(buffer.read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=r"is damaged: .*; without this file"):
        make().load_companions(path)


def test_a_period_of_timesteps_stays_that_over_any_number_of_resumptions(tmp_path) -> None:
    """8,000 timesteps of 4 environments are 2,000 vector steps, saved and loaded four times."""
    agent = make(n_envs=4, target_update_timesteps=8000, max_timesteps=10**6)
    for _ in range(4):
        assert agent.describe_learning()[-1] == (
            "target network: copied every 8,000 timesteps = 8,000 updates = 2,000 vector steps"
        )
        begin(agent) if not agent.source.has_started else None
        config = agent.config
        state = agent.checkpoint_state()
        agent = make(n_envs=4, target_update_timesteps=8000, max_timesteps=10**6)
        agent.load_checkpoint_state(state)
        assert agent.config == config


def test_the_target_is_copied_when_a_multiple_of_the_period_has_passed() -> None:
    agent = make(target_update_timesteps=20, max_timesteps=1000)
    copies = []
    agent.update_target = lambda: copies.append(agent.source.collector.timesteps)
    train_epochs(agent, 6)  # 96 timesteps, two in each round, learning from the 17th on
    assert copies == [20, 40, 60, 80]


def test_what_a_run_asks_of_its_target_is_told_in_all_units() -> None:
    agent = make(
        target_update_timesteps=10_000, replay_ratio=0.25, n_envs=1, eval_n_envs=1, max_timesteps=20
    )
    lines = agent.describe_learning()
    assert lines[0] == (
        "replay: 64 transitions (0.0 MiB), 1/4 updates of 8 for each timestep, from timestep 16 on"
    )
    assert lines[1] == (
        "target network: copied every 10,000 timesteps = 2,500 updates = 10,000 vector steps"
    )
    hasty = make(eval_freq_timesteps=15, eval_freq_epochs=None)
    (note,) = [line for line in hasty.describe_learning() if line.startswith("note")]
    assert "between epochs of 16 timesteps, which is less often than every 15" in note
    patient = make(eval_freq_timesteps=16, eval_freq_epochs=None)
    assert not [line for line in patient.describe_learning() if line.startswith("note")]
    idle = make(max_timesteps=16)
    assert "note: nothing is learnt, for the run ends at timestep 16" in idle.describe_learning()


PHASES = [
    {"name": "fill", "type": "online", "duration": {"timesteps": 20}, "hooks": ["collect"]},
    {"name": "study", "type": "offline", "duration": {"updates": 5}, "hooks": ["update"]},
    {"name": "judge", "type": "eval_only", "duration": {"cycles": 1}, "hooks": ["evaluate"]},
    {
        "name": "both",
        "type": "online",
        "duration": {"timesteps": 12},
        "hooks": ["collect", "update"],
    },
]


def test_phases_are_carried_out_in_their_order_and_saved() -> None:
    agent = make(phases=PHASES, max_timesteps=64, learning_starts_timesteps=8)
    rows = train_epochs(agent, 2)
    assert (agent.counters.timesteps, agent.counters.updates) == (20, 0)
    rows += train_epochs(agent, 1)
    assert (agent.counters.timesteps, agent.counters.updates) == (20, 5)
    state = agent.checkpoint_state()
    rows += train_epochs(agent, 1)
    assert agent.n_evaluations == 1
    assert "val/roll/ep_rew_mean" in rows[-1]
    assert agent.end_reason is None
    rows += train_epochs(agent, 1)
    assert (agent.counters.timesteps, agent.counters.updates) == (32, 5 + 12)
    assert agent.end_reason == "all phases completed"
    # Recorded is the phase that comes next.
    assert [row["train/replay/phase"] for row in rows] == [0, 1, 2, 3, 4]
    # After the first epoch 16 of 20 timesteps are made.
    assert [row["train/replay/phases_done"] for row in rows] == [0.8, 1, 2, 3, 4]

    resumed = make(phases=PHASES, max_timesteps=64, learning_starts_timesteps=8)
    resumed.load_checkpoint_state(state)
    train_epochs(resumed, 1)
    assert resumed.n_evaluations == 1
    assert resumed.counters.timesteps == 20


def test_an_offline_phase_without_a_buffer_stops_the_run() -> None:
    agent = make(phases=PHASES, max_timesteps=64, learning_starts_timesteps=8)
    train_epochs(agent, 2)
    state = agent.checkpoint_state()
    resumed = make(phases=PHASES, max_timesteps=64, learning_starts_timesteps=8)
    resumed.load_checkpoint_state(state)
    with pytest.raises(RunFailedError, match="phase 'study' learns from what is stored, 0"):
        train_epochs(resumed, 1)


@pytest.mark.parametrize("more", [{}, {"prioritized_replay": True, "frame_stack": 4}], ids=str)
def test_a_loss_that_is_not_finite_ends_the_run_with_its_name(more) -> None:
    agent = make(max_timesteps=1000, **more)
    train_epochs(agent, 2)
    with torch.no_grad():
        agent.policy.advantage.output.weight.fill_(torch.inf)
    said = r"train/\S+ is \S+ at epoch 3, update 1 of the epoch.*or a smaller reward_scale$"
    with pytest.raises(DivergedError, match=said):
        train_epochs(agent, 1)


def test_the_learner_sees_scaled_rewards_and_reports_raw_ones() -> None:
    agent = make("Counting", env_kwargs={"length": 5}, reward_scale=0.5, max_timesteps=1000)
    rows = train_epochs(agent, 2)
    assert rows[-1]["train/roll/ep_rew_mean"] == 5.0
    assert agent.source.sample().reward.unique().tolist() == [0.5]


def test_learning_that_has_begun_goes_on_where_old_transitions_go_early() -> None:
    agent = make(learning_starts_timesteps=8, max_timesteps=400)
    train_epochs(agent, 3)
    learnt = agent.counters.updates
    buffer = agent.source.buffer
    buffer._drop_before(buffer.head - 2)  # as it does where many episodes end
    assert len(buffer) < agent.config.timesteps_before_updates
    train_epochs(agent, 1)
    assert agent.counters.updates > learnt > 0


@pytest.mark.parametrize("settings", [{}, RAINBOW], ids=["dqn", "rainbow"])
def test_a_buffer_on_a_disk_trains_what_one_in_memory_does(settings, tmp_path) -> None:
    agents = [make(max_timesteps=1000, **settings) for _ in range(2)]
    agents.append(make(max_timesteps=1000, buffer_folder=str(tmp_path), **settings))
    first, again, on_disk = (timeless(train_epochs(agent, 4)) for agent in agents)
    assert first == again == on_disk
    assert list(tmp_path.iterdir()) == []  # files without names
    assert agents[2].source.buffer.place.folder == tmp_path


def test_a_folder_of_a_buffer_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="buffer_folder: there is no folder '/gone'"):
        make(buffer_folder="/gone")
    with pytest.raises(ConfigError, match="set buffer_folder to null, or device to cpu"):
        find_place(".", torch.device("cuda"))


def test_networks_of_another_run_are_taken_over_where_they_fit() -> None:
    settings = {"algo_id": "sac", "policy_kwargs": {"hidden_dims": [8]}}
    first, second = (make_agent("Pendulum-v1", **settings, seed=k) for k in (1, 2))
    third = make_agent("Pendulum-v1", **settings, n_critics=3)
    before = {key: value.clone() for key, value in third.critic.state_dict().items()}
    for agent in (second, third):
        agent.take_over_policy(first.learner_state())
    for name, module in first.networks.items():
        taken = second.networks[name].state_dict()
        assert all(value.equal(taken[key]) for key, value in module.state_dict().items()), name
    assert all(value.equal(before[key]) for key, value in third.critic.state_dict().items())


@pytest.mark.usefixtures("meanwhile")
def test_a_phase_without_collecting_waits_for_no_step() -> None:
    agent = make(phases=PHASES, max_timesteps=64, learning_starts_timesteps=8)
    train_epochs(agent, 3)
    assert (agent.counters.timesteps, agent.counters.updates) == (20, 5)
