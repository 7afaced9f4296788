"""Whole files replaced at once: a temporary file beside the target, flushed, then renamed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from utils.errors import StorageError

TEMPORARY_SUFFIX = ".tmp"
_serial = itertools.count()
_open_folders: set[Path] = set()


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the body into a `StorageError` that names the file.

    Args:
        path: The file that the body reads or writes; only used in the message.

    Raises:
        StorageError: The body raised an `OSError` (full disk, read-only folder, ...).
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"cannot write '{path}': {reason}") from error


def temporary_path(path: Path) -> Path:
    """Return a name in the folder of `path` that no other writer uses and no loader reads."""
    return path.with_name(f".{path.name}.{os.getpid()}-{next(_serial)}{TEMPORARY_SUFFIX}")


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None, *, prefix: str) -> Iterator[Path]:
    """Make a folder that is gone when the body ends, however it ends, unless it was moved away.

    An interrupt may come at any instruction: the name is chosen first, so that none falls between
    the making of the folder and the promise to remove it.

    Args:
        parent: The folder that it is in; the system's for temporary files if None.
        prefix: Its name begins so.

    Yields:
        The folder, which nobody else can read.

    Raises:
        StorageError: It cannot be made.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    folder = parent / f"{prefix}{uuid.uuid4().hex[:12]}"
    _open_folders.add(folder)
    try:
        with storage_errors(folder):
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _open_folders.discard(folder)


def remove_temporary_folders() -> None:
    """Remove every temporary folder of this process, for an end that unwinds nothing."""
    for folder in tuple(_open_folders):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the body ends without an error.

    Args:
        path: The file to replace. Its folder must exist.
        sync: Wait until the bytes are on the disk (survives a power cut, not only a kill).

    Yields:
        The temporary file, open for writing bytes.

    Raises:
        StorageError: The disk is full or the folder cannot be written. `path` is as it was and
            the temporary file is gone.
    """
    temporary = temporary_path(path)
    with storage_errors(path):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        if sync:
            sync_directory(path.parent)


def sync_directory(folder: Path) -> None:
    """Make the renames in `folder` survive a power cut, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Replace `path` by `content` at once; see `atomic_file`."""
    with atomic_file(path, sync=sync) as file:
        file.write(content)


def write_json(path: Path, content: object, *, sync: bool = True) -> None:
    """Replace `path` by indented JSON at once; see `atomic_file`.

    Args:
        path: The file to replace.
        content: Plain containers, strings, finite numbers, booleans and None.
        sync: See `atomic_file`.

    Raises:
        StorageError: See `atomic_file`.
        ValueError: A number is not finite.
    """
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(path, text.encode() + b"\n", sync=sync)


def read_json(path: Path) -> Mapping[str, object] | None:
    """Read a JSON object.

    Returns:
        The object, or None when the file is missing or is not a whole JSON object.
    """
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def remove_temporary_files(folder: Path) -> int:
    """Remove what a killed writer left behind in `folder`.

    Call it only where no other process writes.

    Returns:
        The number of files removed.
    """
    leftovers = list(folder.glob(f".*{TEMPORARY_SUFFIX}"))
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)
    return len(leftovers)
