"""Locks on open files, where the disk has them; the system takes them back from a dead process."""

from __future__ import annotations

import errno
import fcntl

_NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})
"""What `flock` answers on some network disks."""


def take_lock(descriptor: int, *, waits: bool) -> bool:
    """Take the lock of an open file; it is given back when the file is closed.

    Args:
        descriptor: Of the file, or of a folder.
        waits: Whether to wait for a process that has it.

    Returns:
        Whether it was taken; False where the disk has no locks.

    Raises:
        BlockingIOError: Another process has it, and this one does not wait.
        OSError: Anything else.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    return True
