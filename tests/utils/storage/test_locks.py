import errno
import fcntl
import os

import pytest

from utils.storage import take_lock


@pytest.fixture
def opened(tmp_path):
    """Open one file twice: the lock of the one is in the way of the other."""
    descriptors = [os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    yield descriptors
    for descriptor in descriptors:
        os.close(descriptor)


def test_one_has_the_lock_until_its_file_is_closed(opened, tmp_path):
    first = os.open(tmp_path / "file", os.O_RDWR)
    assert take_lock(first, waits=False)
    with pytest.raises(BlockingIOError):
        take_lock(opened[0], waits=False)
    os.close(first)
    assert take_lock(opened[0], waits=True)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_disk_without_locks_is_told_apart(monkeypatch, opened, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert not take_lock(opened[0], waits=False)


def test_other_errors_are_errors(monkeypatch, opened):
    def refuse(*_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="broken"):
        take_lock(opened[0], waits=False)
