"""The life of an agent, whatever its algorithm."""

from __future__ import annotations

import multiprocessing
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback

from agents import base_agent
from agents.base_agent import hyperparameters_at
from tests.helpers.agents import begin, make_agent, train_epochs
from tests.helpers.saved_states import all_finite, state_differences
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.dataloaders import UpdateBatch
from utils.errors import ConfigError, DivergedError
from utils.metrics import Counters
from utils.seeding import global_generator_state
from utils.trainer_factory import build_trainer


def timeless(rows):
    return [{key: v for key, v in row.items() if "/time/" not in key} for row in rows]


def test_counters_count_what_was_done():
    agent = make_agent("Counting", env_kwargs={"length": 5})
    train_epochs(agent, 3)
    # 3 rollouts of 8 steps of 2 environments; 2 passes over 2 minibatches of 8; episodes of 5.
    assert agent.counters == Counters(epoch=3, timesteps=48, vec_steps=24, updates=12, episodes=8)


def test_a_rollout_without_an_ended_episode_has_no_mean_return():
    rows = train_epochs(make_agent("Counting", env_kwargs={"length": 12}), 3)
    assert [row["train/roll/n_episodes"] for row in rows] == [0, 2, 2]
    assert "train/roll/ep_rew_mean" not in rows[0]
    assert "train/roll/ep_len_mean" not in rows[0]
    assert rows[1]["train/roll/ep_rew_mean"] == rows[1]["train/roll/ep_len_mean"] == 12
    assert all_finite(rows)


def test_lightning_trains_what_a_bare_loop_trains():
    class StopAfter(Callback):
        rows: list[dict[str, float]] = []  # noqa: RUF012 - one instance

        def on_train_epoch_end(self, trainer, pl_module):
            self.rows.append(pl_module.recorder.flush())
            if pl_module.counters.epoch == 4:
                pl_module.request_stop("enough")

    bare = make_agent("CartPole-v1", normalize_obs="rolling", normalize_reward=True)
    rows = train_epochs(bare, 4)
    driven = make_agent("CartPole-v1", normalize_obs="rolling", normalize_reward=True)
    stop = StopAfter()
    build_trainer(device="cpu", callbacks=[stop]).fit(driven)
    assert driven.counters == bare.counters
    assert state_differences(driven.checkpoint_state(), bare.checkpoint_state()) == []
    assert timeless(stop.rows) == timeless(rows)


def test_a_stop_that_is_asked_for_in_a_rollout_does_not_cost_its_update():
    class AskEarly(Callback):
        def on_train_epoch_start(self, trainer, pl_module):
            if pl_module.counters.epoch == 2:
                pl_module.request_stop("enough")
                pl_module.request_stop("too late to be the reason")

    agent = make_agent("Counting")
    build_trainer(device="cpu", callbacks=[AskEarly()]).fit(agent)
    assert agent.counters == Counters(epoch=3, timesteps=48, vec_steps=24, updates=12, episodes=8)
    assert agent.stop_reason == "enough"


@pytest.mark.parametrize("algo_id", ["ppo", "reinforce"])
def test_a_saved_state_goes_on_as_if_it_had_never_stopped(algo_id, tmp_path):
    settings = {"algo_id": algo_id, "normalize_obs": "rolling", "normalize_reward": True}
    agent = make_agent("CartPole-v1", **settings)
    train_epochs(agent, 3)
    # What the run has been through apart from training.
    agent.n_evaluations, agent.best_return = 2, 123.0
    drawn = random.random(), np.random.random(), torch.rand(())  # noqa: NPY002
    save_checkpoint(tmp_path / "state.ckpt", agent.checkpoint_state())
    train_epochs(agent, 2)
    other = make_agent("CartPole-v1", **settings)
    assert drawn == (random.random(), np.random.random(), torch.rand(()))  # noqa: NPY002
    torch.rand(3)  # the process that goes on has drawn something else since
    saved = load_checkpoint(tmp_path / "state.ckpt")
    assert other.load_checkpoint_state(saved) == 0
    assert state_differences(other.checkpoint_state()["generators"], saved["generators"]) == []
    assert other.counters.epoch == 3
    train_epochs(other, 2)
    assert state_differences(other.checkpoint_state(), agent.checkpoint_state()) == []


def test_moments_of_the_optimiser_are_part_of_the_state():
    agent = make_agent("CartPole-v1")
    train_epochs(agent, 1)
    for moments in agent.checkpoint_state()["optimizer"]["state"].values():
        assert moments["step"] == 4
        assert moments["exp_avg_sq"].abs().sum() > 0


def test_evaluation_leaves_no_trace_in_training():
    agent = make_agent("CartPole-v1", normalize_obs="rolling", normalize_reward=True)
    train_epochs(agent, 1)
    before = agent.checkpoint_state()
    before = {key: before[key] for key in ("policy", "optimizer", "source", "generators")}
    plain = state_differences(before, before)
    result = agent.evaluate()
    after = agent.checkpoint_state()
    assert plain == state_differences({key: after[key] for key in before}, before) == []
    row = agent.recorder.flush()
    assert row["val/roll/ep_rew_mean"] == result.mean == sum(result.returns) / 4
    assert (agent.n_evaluations, agent.best_return) == (1, result.mean)
    agent.close()


def test_evaluations_use_other_seeds_each_time_and_tests_the_same():
    agent = make_agent("CartPole-v1")
    begin(agent)
    first = agent.evaluate()
    agent.counters.epoch = 1
    second = agent.evaluate()
    tests = [agent.evaluate(stream="test", index=0) for _ in range(2)]
    assert len({first.seed, second.seed, tests[0].seed}) == 3
    assert tests[0].returns == tests[1].returns
    assert agent.n_evaluations == 2, "a test is no evaluation of the run"
    agent.close()


def test_the_best_return_is_that_of_the_best_evaluation():
    agent = make_agent("RewardList", env_kwargs={"rewards": [1.0, 2.0]})
    begin(agent)
    agent.best_return = 5.0
    agent.evaluate()
    assert agent.best_return == 5.0
    assert agent.recorder.flush()["val/roll/ep_rew_best"] == 5.0
    agent.best_return = 2.0
    agent.evaluate()
    assert agent.best_return == 3.0
    agent.close()


def test_an_evaluation_without_an_ended_episode_has_no_mean():
    agent = make_agent("Counting", env_kwargs={"length": 100}, eval_max_episode_steps=10)
    begin(agent)
    result = agent.evaluate()
    row = agent.recorder.flush()
    assert (result.mean, result.n_unfinished) == (None, 4)
    assert (row["val/roll/n_episodes"], row["val/roll/n_unfinished"]) == (0, 4)
    assert not [key for key in row if "rew" in key or "len" in key]
    assert agent.best_return is None
    agent.close()


def test_a_loss_that_is_not_finite_stops_the_run_and_names_itself(monkeypatch):
    agent = make_agent("Counting")
    agent.compiled_update = None
    train_epochs(agent, 1)
    losses = agent.write_gradients
    n_calls = 0

    def broken(minibatch):
        nonlocal n_calls
        n_calls += 1
        found = losses(minibatch)
        if n_calls == 3:
            found.metrics["train/loss/value"] = found.metrics["train/loss/value"] * torch.nan
        return found

    monkeypatch.setattr(agent, "write_gradients", broken)
    with pytest.raises(DivergedError, match=r"train/loss/value is nan at epoch 2, minibatch 3, "):
        train_epochs(agent, 1)


def test_a_gradient_that_is_not_finite_stops_the_run(monkeypatch):
    agent = make_agent("Counting")
    agent.compiled_update = None
    write = agent.write_gradients
    n_calls = 0

    def broken(minibatch):
        nonlocal n_calls
        n_calls += 1
        found = write(minibatch)
        if n_calls == 4:  # the last of the update: no loss shows it any more
            next(agent.policy.parameters()).grad.mul_(torch.inf)
        return found

    monkeypatch.setattr(agent, "write_gradients", broken)
    with pytest.raises(DivergedError, match=r"train/grad/norm is \w+ at epoch 1, minibatch 4"):
        train_epochs(agent, 1)


def test_what_was_clipped_is_told():
    (row,) = train_epochs(make_agent("CartPole-v1", max_grad_norm=1e-6), 1)
    assert row["train/grad/clipped_fraction"] == 1.0
    parts = [row[f"train/grad/norm_{name}"] for name in ("actor_head", "critic_head", "trunk")]
    assert max(parts) < row["train/grad/norm"] < sum(parts)
    (row,) = train_epochs(make_agent("CartPole-v1", max_grad_norm=None), 1)
    assert "train/grad/clipped_fraction" not in row


def test_hyperparameters_follow_the_timesteps():
    config = make_agent("Counting", policy_lr={"start": 1e-3, "end": 0.0}, ent_coef=0.1).config
    # A quarter of 64 timesteps.
    found = hyperparameters_at(config, timesteps=16)
    assert found["policy_lr"] == pytest.approx(0.75e-3)
    assert (found["ent_coef"], found["clip_range"]) == (0.1, 0.2)


def test_the_learning_rate_of_the_optimiser_is_the_scheduled_one():
    agent = make_agent("Counting", policy_lr={"start": 1e-3, "end": 0.0})
    used = []
    for _ in range(4):
        train_epochs(agent, 1)
        used.append(agent.optimizer.param_groups[0]["lr"])
    assert used == pytest.approx([1e-3, 0.75e-3, 0.5e-3, 0.25e-3])


def test_closing_ends_all_worker_processes_and_may_be_repeated():
    agent = make_agent("Counting", vectorization="async", n_workers=1)
    begin(agent)
    agent.evaluate()
    assert len(multiprocessing.active_children()) == 2
    agent.close()
    agent.close()
    assert multiprocessing.active_children() == []


def test_an_agent_that_cannot_be_built_leaves_no_process():
    with pytest.raises(ConfigError, match="normalize_obs"):
        make_agent("Identity", vectorization="async", n_workers=1, normalize_obs="rolling")
    assert multiprocessing.active_children() == []


def test_an_evaluation_that_is_not_whole_counts_for_nothing(caplog):
    agent = make_agent("Counting", eval_max_episode_steps=10, eval_episodes=2)
    agent.evaluate()
    whole = agent.recorder.flush()
    assert whole["val/roll/n_unfinished"] == 0
    assert "val/roll/ep_rew_mean" in whole
    agent.close()
    agent = make_agent(
        "Counting", env_kwargs={"length": 40}, eval_max_episode_steps=10, eval_episodes=2
    )
    agent.evaluate()
    row = agent.recorder.flush()
    assert row["val/roll/n_unfinished"] == 2
    assert "val/roll/ep_rew_mean" not in row
    assert agent.best_return is None


def test_evaluation_leaves_global_generators_alone(monkeypatch):
    agent = make_agent("Counting")
    evaluate = base_agent.evaluate_policy

    def greedy_for_numbers(*args, **kwargs):
        np.random.rand()  # noqa: NPY002 - what a third-party environment may do
        random.random()
        torch.rand(1)
        return evaluate(*args, **kwargs)

    monkeypatch.setattr(base_agent, "evaluate_policy", greedy_for_numbers)
    before = global_generator_state()
    agent.evaluate()
    assert state_differences(before, global_generator_state()) == []
    agent.close()


def test_rollouts_of_whole_games_hold_all_lives():
    agent = make_agent(
        "Lives",
        algo_id="reinforce",
        env_wrappers=[{"id": "EpisodicLife"}],
        max_episode_steps=40,
    )
    (row,) = train_epochs(agent, 1)
    # One game of each of two environments: 3 lives of 10 steps, a reward of 1 each.
    assert agent.counters.timesteps == 60
    assert agent.counters.episodes == 2
    assert row["train/roll/ep_rew_mean"] == 30.0
    # The learner's episodes end with each life: returns of a life begin at 10 steps to go.
    assert agent.source.buffer.terminated[:30].sum().item() == 6
    agent.close()


def test_an_epoch_of_three_rollouts_trains_what_three_epochs_of_one_train():
    one, many = make_agent("CartPole-v1"), make_agent("CartPole-v1", rollouts_per_epoch=3)
    single, grouped = train_epochs(one, 6), train_epochs(many, 2)
    assert many.counters.epoch == 2
    assert many.counters.timesteps == one.counters.timesteps
    assert many.counters.updates == one.counters.updates
    for name, weight in one.policy.state_dict().items():
        assert weight.equal(many.policy.state_dict()[name]), name
    mean_loss = sum(row["train/loss/value"] for row in single[:3]) / 3
    assert grouped[0]["train/loss/value"] == pytest.approx(mean_loss)
    n_episodes = sum(row["train/roll/n_episodes"] for row in single[3:])
    assert grouped[1]["train/roll/n_episodes"] == n_episodes


def test_every_batch_of_an_epoch_is_moved_to_the_device(monkeypatch):
    agent = make_agent("CartPole-v1", rollouts_per_epoch=3)
    moved, used = [], []
    move, update_from = UpdateBatch.to, agent.update_from

    def moves(batch, device):
        assert device == agent.compute_device
        moved.append(move(batch, device))
        return moved[-1]

    monkeypatch.setattr(UpdateBatch, "to", moves)
    monkeypatch.setattr(
        agent, "update_from", lambda batch: (used.append(batch), update_from(batch))
    )
    train_epochs(agent, 1)
    assert [id(batch) for batch in used] == [id(batch) for batch in moved]
    assert len(used) == 3


def test_the_reward_scale_reaches_the_learner_and_no_reported_return():
    agent = make_agent("Counting", env_kwargs={"length": 5}, reward_scale=0.25)
    plain = make_agent("Counting", env_kwargs={"length": 5})
    (row,), (plain_row,) = train_epochs(agent, 1), train_epochs(plain, 1)
    assert plain_row["train/roll/learner_reward_mean"] != 0.0
    scaled = 0.25 * plain_row["train/roll/learner_reward_mean"]
    assert row["train/roll/learner_reward_mean"] == pytest.approx(scaled)
    assert agent.source.buffer.reward.equal(0.25 * plain.source.buffer.reward)
    assert row["train/roll/ep_rew_mean"] == plain_row["train/roll/ep_rew_mean"]


def test_a_stop_that_comes_while_the_others_are_told_waits_for_the_next_epoch():
    agent = make_agent("Counting")
    told = []

    class Conductor:
        def begin_epoch(self, reason, weights):
            del weights
            told.append(reason)
            agent.interrupt("SIGINT")

    agent.team = SimpleNamespace(is_leader=True)
    agent.conductor = Conductor()
    agent._trainer = SimpleNamespace(should_stop=False)
    agent.on_train_epoch_end()
    assert (told, agent.trainer.should_stop) == ([None], False)
    agent.on_train_epoch_end()
    assert (told, agent.trainer.should_stop) == ([None, "SIGINT"], True)
    agent.close()
