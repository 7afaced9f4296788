import json
import logging
import math
import os

import pytest

from tests.helpers.fake_agent import FakeAgent, FakeConfig
from trainer_callbacks import model_checkpoint
from trainer_callbacks.model_checkpoint import ModelCheckpoint
from utils.checkpoints import load_checkpoint, read_description, rewind
from utils.errors import StorageError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def make_agent(tmp_path, *, clock=None, **settings):
    agent = FakeAgent(FakeConfig(**settings), runs_dir=tmp_path)
    agent.callbacks = [ModelCheckpoint(clock=clock or Clock())]
    agent.start()
    return agent


def resume(agent, reference="@last"):
    resumed = FakeAgent(agent.config)
    resumed.run = agent.run
    resumed.callbacks = [ModelCheckpoint(clock=Clock())]
    resumed.load(load_checkpoint(agent.run.checkpoint(reference)))
    resumed.start()
    return resumed


def epochs(agent):
    return [int(path.stem.removeprefix("epoch=")) for path in agent.run.list_checkpoints()]


def pointer(agent, name):
    return agent.run.checkpoint(f"@{name}").stem


def test_best_is_the_highest_evaluation_and_the_earliest_of_equals(tmp_path):
    agent = make_agent(tmp_path, keep_checkpoints=10)
    for score in (10.0, 30.0, 20.0, 30.0):
        agent.train_epoch(val__roll__ep_rew_mean=score)
        agent.train_epoch(train__roll__ep_rew_mean=1000.0)
    agent.end()
    assert epochs(agent) == [1, 3, 5, 7, 8]
    assert pointer(agent, "best") == "epoch=03"
    assert pointer(agent, "last") == "epoch=08"
    assert load_checkpoint(agent.run.checkpoint("@best"))["weight"] == 3.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_score_that_is_not_finite_is_never_the_best(tmp_path, bad):
    agent = make_agent(tmp_path)
    agent.train_epoch(val__roll__ep_rew_mean=bad)
    agent.train_epoch(val__roll__ep_rew_mean=-50.0)
    agent.train_epoch(val__roll__ep_rew_mean=bad)
    assert pointer(agent, "best") == "epoch=02"
    assert pointer(agent, "last") == "epoch=03"


def test_run_without_evaluation_has_its_last_policy_as_best(tmp_path):
    agent = make_agent(tmp_path)
    agent.train_epoch()
    agent.train_epoch()
    assert epochs(agent) == []
    agent.end()
    assert (epochs(agent), pointer(agent, "best"), pointer(agent, "last")) == (
        [2],
        "epoch=02",
        "epoch=02",
    )


def test_saves_by_epochs_and_by_the_clock(tmp_path):
    clock = Clock()
    agent = make_agent(
        tmp_path,
        clock=clock,
        checkpoint_freq_epochs=4,
        checkpoint_interval_seconds=30.0,
        keep_checkpoints=10,
    )
    for _ in range(9):
        clock.now += 12.0
        agent.train_epoch()
    # 36 s after the start: 3. By epochs: 4. 36 s after that: 7. By epochs: 8.
    assert epochs(agent) == [3, 4, 7, 8]


def test_newest_are_kept_and_the_best(tmp_path):
    agent = make_agent(tmp_path, keep_checkpoints=2)
    for score in (1.0, 9.0, 3.0, 4.0, 5.0):
        agent.train_epoch(val__roll__ep_rew_mean=score)
    assert epochs(agent) == [2, 4, 5]
    names = sorted(path.name for path in agent.run.checkpoints_dir.glob("*.json"))
    assert names == ["epoch=02.json", "epoch=04.json", "epoch=05.json"]


def test_json_beside_the_checkpoint_says_what_it_is(tmp_path):
    agent = make_agent(tmp_path)
    agent.train_epoch(val__roll__ep_rew_mean=12.5, train__loss__value=math.nan)
    facts = json.loads((agent.run.checkpoints_dir / "epoch=01.json").read_text())
    assert facts["config_id"] == "Fake-v0:ppo"
    assert facts["counters"]["timesteps"] == 100
    assert facts["metrics"] == {"val/roll/ep_rew_mean": 12.5, "train/loss/value": "nan"}
    assert (facts["is_best_so_far"], facts["best_score"]) == (True, 12.5)


def test_resume_goes_on_with_names_and_best_score(tmp_path):
    agent = make_agent(tmp_path, keep_checkpoints=10)
    for score in (10.0, 30.0, 20.0):
        agent.train_epoch(val__roll__ep_rew_mean=score)
    before = {path.name: path.stat().st_mtime_ns for path in agent.run.list_checkpoints()}
    resumed = resume(agent)
    resumed.train_epoch(val__roll__ep_rew_mean=25.0)
    assert pointer(resumed, "best") == "epoch=02"
    resumed.train_epoch(val__roll__ep_rew_mean=31.0)
    resumed.end()
    assert epochs(resumed) == [1, 2, 3, 4, 5]
    assert pointer(resumed, "best") == "epoch=05"
    after = {path.name: path.stat().st_mtime_ns for path in agent.run.list_checkpoints()}
    assert before.items() <= after.items()


def test_resume_from_an_earlier_checkpoint_keeps_what_it_writes(tmp_path):
    agent = make_agent(tmp_path, keep_checkpoints=1)
    for score in (10.0, 8.0, 9.0):
        agent.train_epoch(val__roll__ep_rew_mean=score)
    resumed = resume(agent, "@best")
    resumed.train_epoch(val__roll__ep_rew_mean=8.0)
    assert pointer(resumed, "last") == "epoch=02"
    # Epoch 3 is of the abandoned line: the newest is the one that was written last.
    assert epochs(resumed) == [1, 2]
    assert load_checkpoint(resumed.run.checkpoint("@last"))["weight"] == 2.0


def test_kill_between_the_two_pointers_does_not_lose_the_best(tmp_path, monkeypatch):
    agent = make_agent(tmp_path)
    agent.train_epoch(val__roll__ep_rew_mean=10.0)
    moved = []

    def die_after_first(folder, name, target):
        if moved:
            raise KeyboardInterrupt
        moved.append(name)
        return point(folder, name, target)

    point = model_checkpoint.point
    monkeypatch.setattr(model_checkpoint, "point", die_after_first)
    with pytest.raises(KeyboardInterrupt):
        agent.train_epoch(val__roll__ep_rew_mean=30.0)
    monkeypatch.undo()
    resumed = resume(agent)
    assert resumed.counters.epoch == 1
    resumed.train_epoch(val__roll__ep_rew_mean=30.0)
    resumed.train_epoch(val__roll__ep_rew_mean=20.0)
    assert pointer(resumed, "best") == "epoch=02"


def test_training_that_ends_right_after_a_save_is_not_saved_twice(tmp_path):
    agent = make_agent(tmp_path)
    agent.train_epoch(val__roll__ep_rew_mean=10.0)
    written = agent.run.checkpoint("@last").stat().st_mtime_ns
    agent.end()
    assert agent.run.checkpoint("@last").stat().st_mtime_ns == written


def test_failed_save_is_a_storage_error_and_keeps_the_pointers(tmp_path, monkeypatch):
    agent = make_agent(tmp_path)
    agent.train_epoch(val__roll__ep_rew_mean=10.0)

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="No space left on device"):
        agent.train_epoch(val__roll__ep_rew_mean=20.0)
    assert (pointer(agent, "best"), pointer(agent, "last")) == ("epoch=01", "epoch=01")
    assert load_checkpoint(agent.run.checkpoint("@last"))["weight"] == 1.0


def test_leftovers_of_a_killed_save_are_removed_at_the_start(tmp_path):
    agent = make_agent(tmp_path)
    agent.train_epoch(val__roll__ep_rew_mean=10.0)
    leftover = agent.run.checkpoints_dir / ".epoch=02.ckpt.77-0.tmp"
    leftover.write_bytes(b"half")
    assert epochs(agent) == [1]
    resume(agent)
    assert not leftover.exists()


@pytest.mark.parametrize(
    ("settings", "seconds_per_epoch", "warns"),
    [
        ({"max_timesteps": 1000}, 0.1, True),
        ({"max_timesteps": 1000, "eval_freq_epochs": 15, "eval_warmup_epochs": 50}, 0.1, True),
        ({"max_timesteps": 1000, "checkpoint_freq_epochs": 10}, 0.1, True),
        ({"max_timesteps": 1000, "checkpoint_freq_epochs": 9}, 0.1, False),
        ({"max_timesteps": 1000, "eval_freq_timesteps": 500}, 0.1, False),
        ({"max_timesteps": 1000, "checkpoint_interval_seconds": 30.0}, 2.0, True),
        ({"max_timesteps": 1000, "checkpoint_interval_seconds": 30.0}, 4.0, False),
        ({"max_timesteps": 100}, 0.1, False),
    ],
)
def test_run_too_short_for_a_periodic_save_says_so_once(
    tmp_path, caplog, settings, seconds_per_epoch, warns
):
    clock = Clock()
    agent = make_agent(tmp_path, clock=clock, **settings)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            clock.now += seconds_per_epoch
            agent.train_epoch()
    assert caplog.text.count("no checkpoint falls into this run of about 10 epochs") == warns


def test_a_run_that_goes_back_finds_its_best_again(tmp_path):
    agent = make_agent(tmp_path, keep_checkpoints=10)
    for score in (37.0, 263.0, 15.0, 500.0):
        agent.train_epoch(val__roll__ep_rew_mean=score)
    folder = agent.run.checkpoints_dir
    rewind(folder, folder / "epoch=03.ckpt", epoch=3)
    resumed = resume(agent)
    resumed.train_epoch(val__roll__ep_rew_mean=300.0)  # less than 500, which is no more
    assert pointer(resumed, "best") == "epoch=04"
    assert read_description(folder / "epoch=04.ckpt")["best_score"] == 300.0


def test_the_score_of_a_best_policy_that_is_gone_counts_no_more(tmp_path):
    agent = make_agent(tmp_path, keep_checkpoints=10)
    for score in (37.0, 263.0, 15.0, 500.0):
        agent.train_epoch(val__roll__ep_rew_mean=score)
    folder = agent.run.checkpoints_dir
    (folder / "epoch=02.ckpt").unlink()
    rewind(folder, folder / "epoch=03.ckpt", epoch=3)
    resumed = resume(agent)
    assert pointer(resumed, "best") == "epoch=03"
    resumed.train_epoch(val__roll__ep_rew_mean=16.0)  # the policy of 263 is gone, this beats 15
    assert pointer(resumed, "best") == "epoch=04"
