import errno
import fcntl
import os

import pytest

from tests.helpers.silence import leave_elsewhere
from utils.errors import ConfigError, StorageError
from utils.run import Run
from utils.run.lock import RunLock


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "runs", config_id="CartPole-v1:ppo", config_dict={})


def refuse_locks(monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_one_process_has_it(run):
    with RunLock(run.path), pytest.raises(ConfigError, match="by another process: stop it"):
        RunLock(run.path)
    RunLock(run.path).release()


def test_without_locks_the_status_tells(run, monkeypatch, capsys):
    refuse_locks(monkeypatch, errno.ENOLCK)
    RunLock(run.path).release()
    with RunLock(run.path):  # said once
        pass
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"note: '{run.path.parent}' is on a disk without file locks: see to it")
    run.write_status("running")
    RunLock(run.path).release()  # it is this process
    leave_elsewhere(run)
    with pytest.raises(ConfigError, match="is being trained by process 1 on elsewhere"):
        RunLock(run.path)
    leave_elsewhere(run, silent_seconds=1000.0)
    RunLock(run.path).release()


def test_without_locks_a_process_of_another_machine_may_have_the_number_of_this_one(
    run, monkeypatch
):
    refuse_locks(monkeypatch, errno.ENOLCK)
    leave_elsewhere(run, pid=os.getpid())
    with pytest.raises(ConfigError, match="on elsewhere"):
        RunLock(run.path)


def test_a_disk_that_fails_is_told(run, monkeypatch):
    refuse_locks(monkeypatch, errno.EIO)
    with pytest.raises(StorageError, match=r"cannot write '.*\.lock': Input/output error"):
        RunLock(run.path)
