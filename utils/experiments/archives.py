"""Runs in one file, and back: every file of theirs with its checksum, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from utils.errors import ConfigError, StorageError
from utils.experiments.records import is_ours
from utils.run import Run
from utils.run.lock import LOCK_NAME, RunLock
from utils.storage import TEMPORARY_SUFFIX, atomic_file, storage_errors

SUFFIXES = {".tar": "", ".tar.gz": "gz", ".tgz": "gz", ".tar.xz": "xz"}
_INDEX = "archive.json"
_FORM = 1
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of one run of an archive."""

    run_id: str
    is_new: bool
    """False: it was there already, the same in every file."""


def compression_of(path: Path) -> str:
    """Return how the name says that an archive is compressed: gz, xz or "".

    Raises:
        ConfigError: It is no name of an archive.
    """
    for suffix, compression in SUFFIXES.items():
        if path.name.endswith(suffix) and path.name != suffix:
            return compression
    raise ConfigError(f"'{path}': an archive ends in {', '.join(SUFFIXES)}")


def write_archive(path: Path, runs: Sequence[Run]) -> int:
    """Write runs into one file, which is there whole or not at all.

    Args:
        path: Replaced if it exists.
        runs: Nobody trains them.

    Returns:
        Files written.

    Raises:
        ConfigError: A run is being trained or holds a link to a folder elsewhere, or the name is
            that of no archive or of a file in one of the runs.
        StorageError: A file cannot be read or written.
    """
    compression = compression_of(path)
    for run in runs:
        if _is_within(path, run.path):
            raise ConfigError(f"'{path}' lies in run '{run.id}' itself: write it elsewhere")
    with contextlib.ExitStack() as locks:
        for run in runs:
            locks.enter_context(RunLock(run.path))
            if run.read_status()["status"] == "running":
                raise ConfigError(f"run '{run.id}' is being trained: archive it when it has ended")
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            mode: Any = f"w:{compression}"
            with tarfile.open(fileobj=file, mode=mode) as archive:
                return _write(archive, runs)


def _write(archive: tarfile.TarFile, runs: Sequence[Run]) -> int:
    index: dict[str, dict[str, str]] = {}
    for run in runs:
        of_run = index[run.id] = {}
        for name in _files(run.path):
            file, arcname = run.path / name, f"{run.id}/{name}"
            with storage_errors(file):
                if _is_inner_link(file, run.path):
                    archive.add(file, arcname=arcname, recursive=False)
                else:  # of a link that leads elsewhere, what it leads to
                    with file.open("rb") as content:
                        archive.addfile(
                            archive.gettarinfo(arcname=arcname, fileobj=content), content
                        )
                of_run[name] = _fingerprint(file, run.path)
    table = json.dumps({"form": _FORM, "runs": index}, indent=1).encode()
    entry = tarfile.TarInfo(_INDEX)
    entry.size = len(table)
    archive.addfile(entry, io.BytesIO(table))
    return sum(map(len, index.values()))


def read_index(path: Path) -> dict[str, dict[str, str]]:
    """Return for each run of an archive its files and their fingerprints.

    Raises:
        ConfigError: It is no archive of runs, or not a whole one.
    """
    with _open(path) as archive:
        return _index(archive, path)


def remove_archived(path: Path, runs: Sequence[Run]) -> list[str]:
    """Remove the folders of runs that an archive holds as they are now.

    Args:
        path: The archive.
        runs: All of them are in it.

    Returns:
        Why others are left as they are, a line for each.

    Raises:
        ConfigError: It is no archive of runs, or not a whole one.
    """
    index, left = read_index(path), []
    for run in runs:
        if run.path.is_symlink():
            left.append(f"run '{run.id}' is a link")
            continue
        if not is_ours(run):
            left.append(f"'{run.path}' is no run of this program")
            continue
        try:
            with RunLock(run.path):
                if run.read_status()["status"] == "running":
                    left.append(f"run '{run.id}' is being trained")
                elif not _is_same(run.path, index[run.id]):
                    left.append(f"run '{run.id}' has changed since it was archived")
                else:
                    with storage_errors(run.path):
                        shutil.rmtree(run.path)
        except (ConfigError, StorageError) as error:
            left.append(str(error))
    return left


def restore_archive(path: Path, runs_dir: Path) -> list[Restored]:
    """Put the runs of an archive into a folder; none where one of them cannot be.

    Args:
        path: The archive.
        runs_dir: Made when it is missing. Runs that are there already, the same in every file, are
            left alone.

    Raises:
        ConfigError: It is no whole archive of runs, a file is not what it was, or another run of
            the same name is there.
        StorageError: The folder cannot be written; nothing is left of what was begun.
    """
    with storage_errors(runs_dir):
        runs_dir.mkdir(parents=True, exist_ok=True)
    with _open(path) as archive:
        index = _index(archive, path)
        new = [run_id for run_id in index if not _is_there(runs_dir / run_id, index[run_id])]
        with storage_errors(runs_dir):
            place = Path(
                tempfile.mkdtemp(prefix=".restore-", suffix=TEMPORARY_SUFFIX, dir=runs_dir)
            )
        try:
            _unpack(archive, place, index, new)
            with storage_errors(runs_dir):
                for run_id in new:
                    os.rename(place / run_id, runs_dir / run_id)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return [Restored(run_id, run_id in new) for run_id in index]


def _unpack(
    archive: tarfile.TarFile, place: Path, index: dict[str, dict[str, str]], new: Sequence[str]
) -> None:
    wanted = {f"{run_id}/{name}" for run_id in new for name in index[run_id]}
    members = [member for member in archive.getmembers() if member.name in wanted]
    try:
        with storage_errors(place):
            # The filter refuses links and names that lead out of the folder, and devices.
            archive.extractall(place, members=members, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise ConfigError(f"the archive is damaged: {error}") from error
    for run_id in new:
        for name, fingerprint in index[run_id].items():
            file = place / run_id / name
            if not os.path.lexists(file) or _fingerprint(file, place / run_id) != fingerprint:
                raise ConfigError(f"the archive is damaged: '{run_id}/{name}' is not what it was")


def _is_there(folder: Path, files: dict[str, str]) -> bool:
    if not folder.exists():
        return False
    if _is_same(folder, files):
        return True
    raise ConfigError(f"'{folder}' is there already and is not the same: move it away first")


def _is_same(folder: Path, files: dict[str, str]) -> bool:
    there = _files(folder)
    return set(there) == set(files) and all(
        _fingerprint(folder / name, folder) == files[name] for name in there
    )


@contextlib.contextmanager
def _open(path: Path) -> Iterator[tarfile.TarFile]:
    if not path.is_file():
        raise ConfigError(f"there is no archive '{path}'")
    try:
        with tarfile.open(path) as archive:
            yield archive
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, StorageError):
            raise
        raise ConfigError(f"'{path}' is no whole archive: {error}") from error


def _index(archive: tarfile.TarFile, path: Path) -> dict[str, dict[str, str]]:
    try:
        file: IO[bytes] | None = archive.extractfile(_INDEX)
        content = json.loads(file.read()) if file is not None else {}
    except KeyError as error:
        raise ConfigError(f"'{path}' is no archive of runs: it has no {_INDEX}") from error
    except ValueError as error:
        raise ConfigError(f"'{path}' is damaged: {_INDEX} cannot be read") from error
    if not isinstance(content, dict) or content.get("form") != _FORM:
        raise ConfigError(f"'{path}' was written by another program")
    index: dict[str, dict[str, str]] = content["runs"]
    for run_id, files in index.items():
        if any(".." in Path(f"{run_id}/{name}").parts or name.startswith("/") for name in files):
            raise ConfigError(f"'{path}' holds names that lead out of its folder")
    return index


def _files(folder: Path) -> list[str]:
    """Return every file and link below a folder by its relative name.

    Temporary files are left out, and links to nothing outside the folder.

    Raises:
        ConfigError: There is a link to a folder elsewhere.
    """
    found = []
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for path in (Path(place, name) for name in (*names, *links)):
            if path.is_symlink() and not _is_inner_link(path, folder):
                if path.is_dir():
                    raise ConfigError(
                        f"'{path}' is a link to a folder elsewhere, '{os.readlink(path)}': put "
                        "that folder in its place first"
                    )
                if not path.exists():
                    continue
            found.append(os.path.relpath(path, folder))
    return sorted(n for n in found if n != LOCK_NAME and not n.endswith(TEMPORARY_SUFFIX))


def _is_within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _is_inner_link(path: Path, folder: Path) -> bool:
    """Say whether a path is a link that a copy of the folder can have too."""
    if not path.is_symlink():
        return False
    return not os.path.isabs(os.readlink(path)) and _is_within(path, folder)


def _fingerprint(path: Path, folder: Path) -> str:
    """Return the checksum of a file, or where a link inside the folder leads."""
    if _is_inner_link(path, folder):
        return f"-> {os.readlink(path)}"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
