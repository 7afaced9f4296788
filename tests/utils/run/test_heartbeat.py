import os
import threading
import time
from types import SimpleNamespace

import pytest

from utils.run import heartbeat
from utils.run.heartbeat import LOCK_NAME, Heartbeat, seconds_silent, wait_for_sign


def age(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.fixture
def folder(tmp_path):
    for name in (LOCK_NAME, "status.json", "metrics.jsonl"):
        (tmp_path / name).touch()
        age(tmp_path / name, 1000.0)
    return tmp_path


def test_the_newest_sign_counts(folder):
    assert seconds_silent(folder) == pytest.approx(1000.0, abs=60.0)
    age(folder / "metrics.jsonl", 400.0)
    assert seconds_silent(folder) == pytest.approx(400.0, abs=60.0)
    assert sorted(p.name for p in folder.iterdir()) == [".lock", "metrics.jsonl", "status.json"]


def test_without_any_file_there_never_was_a_sign(tmp_path):
    assert seconds_silent(tmp_path) == float("inf")
    assert not wait_for_sign(tmp_path)


def test_the_clock_of_the_disk_decides(folder, monkeypatch):
    """This machine's clock is a day ahead; that of the disk, which dates the signs, is not."""
    age(folder / LOCK_NAME, 10.0)
    tomorrow = SimpleNamespace(time=lambda: time.time() + 86_400.0)
    monkeypatch.setattr(heartbeat, "time", tomorrow)
    assert seconds_silent(folder) == pytest.approx(10.0, abs=120.0)


def test_a_process_gives_signs_until_it_leaves(folder, monkeypatch):
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    age(folder / LOCK_NAME, 1.0)  # older ones are not waited for
    with Heartbeat(folder):
        assert wait_for_sign(folder)
        assert wait_for_sign(folder)  # not the first one alone
    assert "heartbeat" not in [thread.name for thread in threading.enumerate()]
    age(folder / LOCK_NAME, 1000.0)
    assert not wait_for_sign(folder)


def test_a_folder_that_is_removed_meanwhile_stays_removed(folder, monkeypatch):
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.001)
    with Heartbeat(folder / "gone"):
        pass
    assert not (folder / "gone").exists()
