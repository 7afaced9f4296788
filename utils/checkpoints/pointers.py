"""Names for checkpoints (`best.ckpt`, `last.ckpt`): relative links, or text files without links."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from utils.errors import CheckpointError
from utils.storage import storage_errors, write_bytes
from utils.storage.atomic import temporary_path

CHECKPOINT_SUFFIX = ".ckpt"
_POINTER_MARK = b"checkpoint pointer: "
_POINTER_MAX_BYTES = 4096


def point(folder: Path, name: str, target: Path | str) -> Path:
    """Let `name` stand for `target`; there is no moment at which `name` is missing.

    Args:
        folder: The folder of the checkpoints.
        name: `best` or `last`; the file is `<name>.ckpt`.
        target: A checkpoint in `folder`, or another pointer there, which is followed first.

    Returns:
        The pointer: a relative symbolic link, or a text file where links cannot be made.

    Raises:
        CheckpointError: `target` leads to no checkpoint.
        StorageError: The folder cannot be written; the pointer is as it was.
    """
    pointer = folder / f"{name}{CHECKPOINT_SUFFIX}"
    regular = follow(folder / Path(target).name)
    assert regular.name != pointer.name, f"'{pointer}' would point to itself"
    temporary = temporary_path(pointer)
    try:
        os.symlink(regular.name, temporary)
    except (OSError, NotImplementedError):
        write_bytes(pointer, _POINTER_MARK + regular.name.encode() + b"\n")
        return pointer
    with storage_errors(pointer):
        try:
            os.replace(temporary, pointer)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    return pointer


def resolve(folder: Path, name: str) -> Path:
    """Return the checkpoint that `name` (`best` or `last`) stands for.

    Returns:
        A regular file in `folder`, one hop from the pointer.

    Raises:
        CheckpointError: There is no such pointer, or it leads to no checkpoint.
    """
    return follow(folder / f"{name}{CHECKPOINT_SUFFIX}")


def follow(path: Path) -> Path:
    """Return `path`, or the file it points to.

    Raises:
        CheckpointError: The file is missing, or a pointer leads nowhere, out of its folder or
            to another pointer.
    """
    name = _target_name(path)
    if name is None:
        if not path.is_file():
            raise CheckpointError(f"there is no checkpoint '{path}'")
        return path
    target = path.with_name(Path(name).name)
    if target.name != name or _target_name(target) is not None or not target.is_file():
        raise CheckpointError(f"'{path}' points to '{name}', which is not a checkpoint beside it")
    return target


def _target_name(path: Path) -> str | None:
    """Return what a link or pointer file names; None for anything else."""
    if path.is_symlink():
        return os.readlink(path)
    if not path.is_file() or path.stat().st_size > _POINTER_MAX_BYTES:
        return None
    content = path.read_bytes()
    if not content.startswith(_POINTER_MARK):
        return None
    return content.removeprefix(_POINTER_MARK).decode(errors="replace").strip()
