"""A group of runs that one command started: one config, several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import RunNotFoundError
from utils.run.labels import read_labels
from utils.run.registry import list_runs
from utils.run.run import Run, make_unique_folder
from utils.storage import read_json, write_json

GROUPS_NAME = "groups"
_RECORD = "group.json"


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The folder `runs/groups/<id>/` of a group; its runs lie in `runs/` like all others."""

    path: Path

    @classmethod
    def create(
        cls,
        runs_dir: Path,
        *,
        config: Mapping[str, Any],
        seeds: Sequence[int],
        arguments: Sequence[str],
    ) -> RunGroup:
        """Make the folder of a new group.

        Args:
            runs_dir: The folder of all runs; made when it is missing.
            config: The whole config of its runs as JSON values; only their seeds differ.
            seeds: One run each.
            arguments: What `train.py` is given for each of them, beside the seed.

        Raises:
            StorageError: The folder cannot be written.
        """
        slug = f"{config['config_id']}-x{len(seeds)}"
        group = cls(make_unique_folder(runs_dir / GROUPS_NAME, slug))
        group.write_record({"config": dict(config), "seeds": [*seeds], "arguments": [*arguments]})
        return group

    @property
    def id(self) -> str:
        """Name of the folder, and the group label of the runs."""
        return self.path.resolve().name

    @property
    def runs_dir(self) -> Path:
        """The folder of all runs."""
        return self.path.parent.parent

    @property
    def report_path(self) -> Path:
        """The report over all seeds."""
        return self.path / "report.md"

    def output_path(self, seed: int) -> Path:
        """Return the file of what the training of a seed prints."""
        return self.path / f"seed={seed}.txt"

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Store what the group was asked to do.

        Raises:
            StorageError: The folder cannot be written.
        """
        write_json(self.path / _RECORD, dict(record))

    def read_record(self) -> dict[str, Any]:
        """Return config, seeds and arguments.

        Raises:
            RunNotFoundError: The file is missing or damaged.
        """
        record = read_json(self.path / _RECORD)
        if record is None or not {"config", "seeds", "arguments"} <= record.keys():
            raise RunNotFoundError(f"'{self.path / _RECORD}' is missing or damaged")
        return dict(record)

    def runs(self) -> dict[int, Run]:
        """Return the newest run of each seed that has one."""
        found: dict[int, Run] = {}
        for run in list_runs(self.runs_dir):
            if read_labels(run.path).group == self.id:
                seed = (read_json(run.config_path) or {}).get("seed")
                if isinstance(seed, int):
                    found.setdefault(seed, run)
        return found


def find_group(reference: str, runs_dir: Path) -> RunGroup | None:
    """Return the group that an id or the path of its folder names; None where it names none."""
    for path in (runs_dir / GROUPS_NAME / reference, Path(reference)):
        if reference and (path / _RECORD).is_file():
            return RunGroup(path)
    return None
