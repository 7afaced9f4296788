"""One run's folder: where everything lies, and who is working in it."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from utils.checkpoints.load import is_whole_checkpoint
from utils.checkpoints.pointers import resolve
from utils.errors import CheckpointError, RunNotFoundError, StorageError
from utils.run import environment_facts, status
from utils.run.labels import LABELS_NAME, Labels, write_labels
from utils.storage import read_json, storage_errors, write_json

CONFIG_NAME = "config.json"


@dataclasses.dataclass(frozen=True)
class Run:
    """One run's folder, `runs/<id>/`. Holds paths only; nothing is read before it is asked for."""

    path: Path

    @classmethod
    def create(
        cls,
        runs_dir: Path | str,
        *,
        config_id: str,
        config_dict: Mapping[str, Any],
        group: str | None = None,
    ) -> Run:
        """Make the folder of a new run and store its config.

        The id is `<date>-<time>-<config id>`; processes that start in the same second get
        `-2`, `-3`, ... at the end, because only one of them can make a folder.

        Args:
            runs_dir: The folder of all runs; made when it is missing.
            config_id: `<env>:<variant>`; becomes part of the id.
            config_dict: The whole config as JSON values; it alone rebuilds the run.
            group: Label of the runs that it belongs to; see `utils.run.labels`.

        Returns:
            The new run.

        Raises:
            StorageError: The folder cannot be written; nothing is left of it.
        """
        run = cls(make_unique_folder(Path(runs_dir), config_id))
        try:
            with storage_errors(run.path):
                run.checkpoints_dir.mkdir()
            if group is not None:
                write_labels(run.path, Labels(group=group))
            # It is a run once it has a config: by then it has its group.
            write_json(run.config_path, dict(config_dict))
        except BaseException:
            (run.path / LABELS_NAME).unlink(missing_ok=True)
            run._remove_empty()
            raise
        return run

    @classmethod
    def open(
        cls, reference: str | Path, *, runs_dir: Path | str = "runs", needs_checkpoint: bool = True
    ) -> Run:
        """Find an existing run.

        Args:
            reference: `@last` (the newest run that can be loaded), an id, the unique beginning
                of an id, or the path of a run folder.
            runs_dir: The folder of all runs.
            needs_checkpoint: Whether `@last` passes over runs without a whole checkpoint.

        Returns:
            The run.

        Raises:
            RunNotFoundError: No run, or more than one, fits the reference, and the message names
                what there is; or what is there may not be read.
        """
        from utils.run.registry import find_run

        try:
            return find_run(str(reference), Path(runs_dir), needs_checkpoint=needs_checkpoint)
        except OSError as error:
            raise RunNotFoundError(
                f"'{error.filename}' cannot be read: {error.strerror}"
            ) from error

    @property
    def id(self) -> str:
        """The name of the folder, unique within the folder of all runs."""
        return self.path.resolve().name

    @property
    def config_path(self) -> Path:
        """The whole config as JSON."""
        return self.path / CONFIG_NAME

    @property
    def checkpoints_dir(self) -> Path:
        """`epoch=XX.ckpt` with a JSON file beside each, `best.ckpt` and `last.ckpt`."""
        return self.path / "checkpoints"

    @property
    def videos_dir(self) -> Path:
        """Episodes as mp4; made by whoever writes the first one."""
        return self.path / "videos"

    @property
    def metrics_csv(self) -> Path:
        """One row per epoch, one column per metric."""
        return self.path / "metrics.csv"

    @property
    def metrics_jsonl(self) -> Path:
        """One JSON object per epoch."""
        return self.path / "metrics.jsonl"

    @property
    def alerts_jsonl(self) -> Path:
        """One JSON object per alert of the metrics monitor."""
        return self.path / "alerts.jsonl"

    @property
    def control_path(self) -> Path:
        """Requests to the process that trains, and its answers; see `utils.run.control`."""
        return self.path / "control.jsonl"

    @property
    def log_path(self) -> Path:
        """The messages of the run."""
        return self.path / "run.log"

    @property
    def report_path(self) -> Path:
        """The report that is written at the end."""
        return self.path / "report.md"

    @property
    def results_path(self) -> Path:
        """Test returns of the best and the last policy, as JSON; written at the end."""
        return self.path / "results.json"

    @property
    def status_path(self) -> Path:
        """Who works in the folder, and how it ended."""
        return self.path / "status.json"

    @property
    def environment_path(self) -> Path:
        """Versions, threads, device and command line, one entry per process that trained."""
        return self.path / "environment.json"

    def read_config_dict(self) -> dict[str, Any]:
        """Return the stored config.

        Raises:
            RunNotFoundError: The file is missing or is not a whole JSON object.
        """
        config = read_json(self.config_path)
        if config is None:
            raise RunNotFoundError(f"'{self.config_path}' is missing or damaged")
        return dict(config)

    def write_status(self, state: status.RunStatus, **facts: object) -> None:
        """Say how the run stands; this process becomes its owner.

        Args:
            state: running, completed, interrupted or failed.
            **facts: JSON values worth knowing (reason, epoch, error, ...). They replace the
                facts of the last call.

        Raises:
            StorageError: The file cannot be written.
        """
        write_json(self.status_path, status.status_record(state, facts))

    def read_status(self) -> dict[str, Any]:
        """Return the last `write_status` as a dict with at least `status`.

        Returns:
            `status` is running, completed, interrupted, failed, `died` (it says running, but its
            process is gone, or one of another machine gives no sign of life) or `unknown`
            (nothing was written).
        """
        return status.interpret(read_json(self.status_path), self.path)

    def write_environment_facts(self, **facts: object) -> dict[str, Any]:
        """Add this process's versions, threads, device and command line to the run's records.

        Args:
            **facts: JSON values that only the caller knows (device, torch_threads, ...).

        Returns:
            The facts as they were stored.

        Raises:
            StorageError: The file cannot be written.
        """
        record = environment_facts.collect() | facts
        write_json(self.environment_path, {"sessions": [*self.read_environment_facts(), record]})
        return record

    def read_environment_facts(self) -> list[dict[str, Any]]:
        """Return one record per process that trained this run, oldest first."""
        stored = read_json(self.environment_path) or {}
        sessions = stored.get("sessions")
        if not isinstance(sessions, list):
            return []
        return [record for record in sessions if isinstance(record, dict)]

    def checkpoint(self, reference: str = "@best") -> Path:
        """Return the file of a checkpoint of this run.

        Args:
            reference: `@best`, `@last`, `epoch=03`, a file name in the run's checkpoint folder,
                or a path.

        Returns:
            A regular file that exists.

        Raises:
            CheckpointError: There is no such checkpoint, and the message names those that exist;
                or they may not be read.
        """
        try:
            if reference.startswith("@"):
                return resolve(self.checkpoints_dir, reference[1:])
            return self._find_checkpoint(reference)
        except CheckpointError as error:
            names = [path.stem for path in self.list_checkpoints()]
            there_is = f"there are {', '.join(names)}" if names else "it has none yet"
            raise CheckpointError(f"run '{self.id}': {error}; {there_is}") from error
        except OSError as error:
            raise CheckpointError(
                f"run '{self.id}': '{error.filename}' cannot be read: {error.strerror}"
            ) from error

    def list_checkpoints(self) -> list[Path]:
        """Return the checkpoint files, pointers left out, by epoch."""
        files = self.checkpoints_dir.glob("epoch=*.ckpt")
        return sorted(
            (f for f in files if _epoch_of(f) is not None), key=lambda f: _epoch_of(f) or 0
        )

    def has_checkpoint(self) -> bool:
        """Say whether the run can be loaded: a readable config and a whole last checkpoint."""
        try:
            last = resolve(self.checkpoints_dir, "last")
            is_whole = is_whole_checkpoint(last)
        except (CheckpointError, OSError):
            return False
        return is_whole and read_json(self.config_path) is not None

    def saved_timesteps(self) -> int | None:
        """Return the timesteps of the last checkpoint; None where no file tells them."""
        try:
            return self.timesteps_of(resolve(self.checkpoints_dir, "last"))
        except CheckpointError:
            return None

    def timesteps_of(self, checkpoint: Path) -> int | None:
        """Return the timesteps of a checkpoint's file; None where the file beside it is damaged."""
        return self.counter_of(checkpoint, "timesteps")

    def counter_of(self, checkpoint: Path, name: str) -> int | None:
        """Return a counter at a checkpoint: `timesteps`, `updates`, `epoch`, ...; see above."""
        counters = (read_json(checkpoint.with_suffix(".json")) or {}).get("counters")
        value = counters.get(name) if isinstance(counters, dict) else None
        return value if isinstance(value, int) else None

    def _find_checkpoint(self, reference: str) -> Path:
        epoch = _epoch_of(Path(reference))
        for candidate in self.list_checkpoints():
            if epoch is not None and _epoch_of(candidate) == epoch:
                return candidate
        for candidate in (self.checkpoints_dir / reference, Path(reference)):
            if candidate.is_file():
                return candidate
        raise CheckpointError(f"there is no checkpoint '{reference}'")

    def _remove_empty(self) -> None:
        for folder in (self.checkpoints_dir, self.path):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _epoch_of(path: Path) -> int | None:
    """Return 3 for `epoch=03` and `epoch=03.ckpt`; None for anything else."""
    match = re.fullmatch(r"epoch=(\d+)(\.ckpt)?", path.name)
    return int(match[1]) if match else None


def make_unique_folder(runs_dir: Path, config_id: str) -> Path:
    """Make the folder `<date>-<time>-<config id>`, or the first free of `-2`, `-3`, ...

    Args:
        runs_dir: Where; made when it is missing.
        config_id: What the name tells beside the time.

    Raises:
        StorageError: The folder cannot be written.
    """
    with storage_errors(runs_dir):
        runs_dir.mkdir(parents=True, exist_ok=True)
    for name in _names(config_id):
        try:
            os.mkdir(runs_dir / name)
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(f"cannot make a run in '{runs_dir}': {error.strerror}") from error
        return runs_dir / name
    raise AssertionError("the names never end")


def _names(config_id: str) -> Iterator[str]:
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", config_id).strip("-.")
    base = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug}"
    yield base
    number = 2
    while True:
        yield f"{base}-{number}"
        number += 1
