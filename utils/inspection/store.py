"""Recordings on disk, in the folder of their run: whole or not at all, and made only once."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from utils.errors import CheckpointError
from utils.inspection.record import EpisodeRecord, EpisodeRequest
from utils.run import Run
from utils.storage import read_json, storage_errors

FOLDER = "inspection"
_FORMAT = 1
_FACTS, _TRACES = "episode.json", "traces.npz"
_PARTIAL = ".partial-"
_serial = itertools.count()


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """One recording: its facts and arrays, and where its films are."""

    record: EpisodeRecord
    folder: Path

    @property
    def film(self) -> Path | None:
        """The pictures of the environment, T + 1 frames; None where it has none."""
        return None if self.record.frame_size is None else film_path(self.folder)

    @property
    def view_film(self) -> Path | None:
        """What the network sees, T + 1 frames; None where that is no picture."""
        return None if self.record.view is None else view_film_path(self.folder)


def film_path(folder: Path) -> Path:
    """Return where a recording keeps the pictures of its environment."""
    return folder / "frames.mp4"


def view_film_path(folder: Path) -> Path:
    """Return where a recording keeps what its network sees."""
    return folder / "network.mp4"


def fingerprint(checkpoint: Path) -> str:
    """Return 8 hexadecimal digits that belong to the content of a checkpoint.

    They are made of the checksums in its table of contents, so that large files take no time.

    Raises:
        CheckpointError: The file cannot be read.
    """
    try:
        with zipfile.ZipFile(checkpoint) as archive:
            entries = [(item.filename, item.file_size, item.CRC) for item in archive.infolist()]
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            f"checkpoint '{checkpoint}' is cut short or not a checkpoint"
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"checkpoint '{checkpoint}' cannot be read: {error.strerror}"
        ) from error
    return f"{zlib.crc32(repr(sorted(entries)).encode()):08x}"


class EpisodeStore:
    """The recordings of one run, `runs/<id>/inspection/`."""

    def __init__(self, run: Run) -> None:
        """Bind a run; nothing is read or written yet."""
        self.folder = run.path / FOLDER

    def find(self, request: EpisodeRequest) -> StoredEpisode | None:
        """Return the recording that was asked for, or None if it has to be made."""
        return _read(self.folder / request.folder)

    def list_facts(self, checkpoint: str, mark: str) -> list[dict[str, Any]]:
        """Return the facts of the recordings of a checkpoint, by seed.

        Those with a changed action are left out.

        Args:
            checkpoint: Its name.
            mark: Its fingerprint.
        """
        folders = (self.folder / f"{checkpoint}-{mark}").glob("*-seed=*")
        found = [facts for facts in map(_read_facts, folders) if facts is not None]
        found = [facts for facts in found if facts["request"]["branch"] is None]
        return sorted(found, key=_order)

    @contextlib.contextmanager
    def writing(self, request: EpisodeRequest) -> Iterator[Path]:
        """Open a folder that takes its place among the recordings when the body ends well.

        Yields:
            The folder; `save_record` and the films write into it.

        Raises:
            StorageError: The disk is full or the run cannot be written; nothing is left.
        """
        target = self.folder / request.folder
        partial = self.folder / f"{_PARTIAL}{os.getpid()}-{next(_serial)}"
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._sweep()
            partial.mkdir()
        try:
            yield partial
            with storage_errors(target):
                if target.exists():  # by another inspector meanwhile, or of another format
                    shutil.rmtree(target)
                partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            for folder in (target.parent, self.folder):
                with contextlib.suppress(OSError):  # it holds something
                    folder.rmdir()

    def _sweep(self) -> None:
        """Remove what inspectors that were killed have left behind."""
        for folder in self.folder.glob(f"{_PARTIAL}*-*"):
            process = folder.name.removeprefix(_PARTIAL).partition("-")[0]
            if process.isdecimal() and not _is_alive(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def save_record(folder: Path, record: EpisodeRecord) -> None:
    """Write facts and arrays of a recording into its folder.

    Raises:
        StorageError: The disk is full.
    """
    with storage_errors(folder):
        np.savez_compressed(folder / _TRACES, **record.traces)
        facts = {"format": _FORMAT} | record.facts()
        (folder / _FACTS).write_text(json.dumps(facts, allow_nan=False), encoding="utf-8")


def _read(folder: Path) -> StoredEpisode | None:
    """Read a recording; None where there is none, or a damaged one, which is then made anew."""
    facts = _read_facts(folder)
    if facts is None:
        return None
    try:
        with np.load(folder / _TRACES) as archive:
            traces = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile):
        return None
    return StoredEpisode(EpisodeRecord.from_facts(facts, traces), folder)


def _read_facts(folder: Path) -> dict[str, Any] | None:
    facts = read_json(folder / _FACTS)
    if facts is None or facts.get("format") != _FORMAT:
        return None
    return {key: value for key, value in facts.items() if key != "format"}


def _order(facts: dict[str, Any]) -> tuple[int, bool]:
    return facts["request"]["seed"], facts["request"]["is_deterministic"]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
