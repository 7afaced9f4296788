"""What people write on a run: the group it belongs to, tags, a note."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from utils.errors import UserError
from utils.storage import read_json, storage_errors, take_lock, write_json

LABELS_NAME = "labels.json"
KEEP_TAG = "keep"
"""A run with this tag is never cleaned."""
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """The labels of one run."""

    group: str | None = None
    """Name shared by runs that belong together, such as the seeds of one experiment."""
    tags: tuple[str, ...] = ()
    """Sorted, each once."""
    note: str = ""


def read_labels(folder: Path) -> Labels:
    """Return the labels of a run's folder; what is missing or damaged is empty."""
    stored = read_json(folder / LABELS_NAME) or {}
    group, tags, note = (stored.get(key) for key in ("group", "tags", "note"))
    return Labels(
        group=group if isinstance(group, str) else None,
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        note=note if isinstance(note, str) else "",
    )


def write_labels(folder: Path, labels: Labels) -> None:
    """Write the labels of a folder that nobody else changes.

    Raises:
        StorageError: The folder cannot be written.
    """
    write_json(folder / LABELS_NAME, dataclasses.asdict(labels))


def change_labels(folder: Path, change: Callable[[Labels], Labels]) -> Labels:
    """Change the labels of a run; of several processes that do so at once none is lost.

    Args:
        folder: Of the run.
        change: Gets the labels as they are now.

    Returns:
        The new labels.

    Raises:
        StorageError: The folder cannot be read or written.
    """
    with _locked(folder):
        before = read_labels(folder)
        after = change(before)
        after = dataclasses.replace(after, tags=tuple(sorted(set(after.tags))))
        if after != before:
            write_labels(folder, after)
    return after


def check_word(text: str, *, what: str) -> str:
    """Return a name of a tag or a group.

    Raises:
        UserError: It is none that can be typed in a filter.
    """
    if not _WORD.fullmatch(text):
        raise UserError(
            f"{what} '{text}': letters, digits and . _ + - without spaces, the first a letter or "
            "a digit"
        )
    return text


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder itself, which needs no file of its own."""
    with storage_errors(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        take_lock(descriptor, waits=True)  # labels change by hand: without locks too
        yield
    finally:
        os.close(descriptor)
