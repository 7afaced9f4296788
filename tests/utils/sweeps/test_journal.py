import errno
import fcntl
import os

import pytest

from utils.errors import StorageError
from utils.sweeps.journal import SystemLock, exclusive


def test_a_disk_without_locks_is_refused(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StorageError, match=r"without file locks.*: give --out a folder on"):
        SystemLock(tmp_path / "journal.log.lock").acquire()
    with (
        pytest.raises(StorageError, match="without file locks"),
        exclusive(tmp_path / "sweep.lock"),
    ):
        pass
