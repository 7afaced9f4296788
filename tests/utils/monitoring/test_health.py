import math
import os
import time

import pytest

from tests.helpers.silence import leave_elsewhere
from tests.helpers.watched_run import WatchedRun
from utils.monitoring import RunView, find_troubles

PLENTY = 10**12


@pytest.fixture
def watched(tmp_path):
    return WatchedRun(tmp_path)


def troubles_of(watched, *, free_bytes=PLENTY, later=0.0):
    view = RunView(watched.run, clock=lambda: time.time() + later)
    view.refresh()
    return find_troubles(view, free_bytes=free_bytes)


def test_a_healthy_run_has_none(watched):
    watched.rows(20)
    assert troubles_of(watched) == []


def test_a_dead_process_is_the_worst(watched):
    watched.rows(3)
    watched.alert()
    watched.die()
    first, second = troubles_of(watched)
    assert first.level == "error"
    assert f"(pid {os.getpid()}) is gone" in first.text
    assert first.advice == "nothing was saved"
    assert second.level == "warning"


def test_a_machine_that_says_nothing_any_more_is_told(watched):
    watched.rows(3)
    leave_elsewhere(watched.run, silent_seconds=7200.0)
    (trouble,) = troubles_of(watched)
    assert trouble.level == "error"
    assert trouble.text.startswith("elsewhere, which trained it, gives no sign of life for 2:00:")


def test_how_a_run_ended_is_told(watched):
    watched.rows(1)
    watched.run.write_status("failed", reason="the disk is full")
    (trouble,) = troubles_of(watched)
    assert (trouble.level, trouble.text) == ("error", "failed: the disk is full")
    watched.run.write_status("interrupted", reason="stopped by a person")
    (trouble,) = troubles_of(watched)
    assert (trouble.level, trouble.text) == ("note", "stopped by a person")
    watched.run.write_status("completed")
    assert troubles_of(watched) == []


def test_the_trainings_own_alerts_are_shown_while_they_are_recent(watched):
    watched.rows(3)
    watched.alert()
    watched.rows(2)
    watched.alert(value=0.9)
    watched.alert(key="train/policy/entropy", bound="below 0.1", message="the entropy collapsed")
    first, second = troubles_of(watched)
    assert first.key == "train/policy/entropy"
    assert second.text == (
        "train/ppo/approx_kl 0.9000 (above 0.05, epoch 5): "
        "the policy changes too much in one update"
    )
    assert second.advice == "lower policy_lr"
    watched.rows(51)
    assert troubles_of(watched) == []


def test_a_number_that_is_not_finite(watched):
    watched.rows(2)
    watched.row(train__loss__value=math.nan, train__grad__norm=math.inf)
    watched.alert(key="train/loss/value", value="NaN", bound="not a finite number")
    (trouble,) = troubles_of(watched)
    assert trouble.level == "error"
    assert trouble.text == "train/loss/value is nan and 1 more: training diverged"


@pytest.mark.parametrize(("later", "is_stalled"), [(55, False), (65, True)])
def test_epochs_that_do_not_end(watched, later, is_stalled):
    watched.rows(5)
    found = troubles_of(watched, later=later)
    assert bool(found) == is_stalled
    if found:
        assert "no epoch has ended for 1:05; one took 0:01 before" in found[0].text


def test_the_first_epoch_may_take_longer(watched):
    assert troubles_of(watched, later=290) == []
    (trouble,) = troubles_of(watched, later=310)
    assert trouble.text.startswith("no epoch has ended for 5:1")
    watched.run.write_status("completed")
    assert troubles_of(watched, later=310) == []


def test_a_disk_that_is_nearly_full(watched):
    watched.rows(1)
    (watched.run.checkpoints_dir / "epoch=01.ckpt").write_bytes(b"x" * 2_000_000)
    (trouble,) = troubles_of(watched, free_bytes=300 * 10**6)
    assert trouble.text == "the disk is nearly full: 300 MB left; a checkpoint takes 2.0 MB"
    assert troubles_of(watched, free_bytes=501 * 10**6) == []
    watched.run.write_status("completed")
    assert troubles_of(watched, free_bytes=1) == []


def test_a_return_that_does_not_rise(watched):
    for i in range(40):
        watched.row(train__roll__ep_rew_mean=float(min(i, 4)))
    # Best at 500 of 10,000 timesteps, now at 4,000.
    (trouble,) = troubles_of(watched)
    assert trouble.level == "note"
    assert trouble.text == ("no better train/roll/ep_rew_mean since 500 timesteps (35% of the run)")


def test_a_return_that_has_arrived_need_not_rise(tmp_path):
    watched = WatchedRun(tmp_path, reward_threshold=4.0)
    for i in range(40):
        watched.row(train__roll__ep_rew_mean=float(min(i, 4)))
    assert troubles_of(watched) == []
