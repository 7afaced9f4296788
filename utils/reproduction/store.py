"""Results of a suite as one JSON file, with the machine and the library that made them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import ConfigError, UserError
from utils.reproduction.entries import Entry
from utils.reproduction.suite import LeftOut
from utils.reproduction.summary import summarize, wall_seconds
from utils.run.environment_facts import collect
from utils.run.run import Run
from utils.storage import read_json, write_json

SCHEMA = "gymnasium-solver/benchmark"
SCHEMA_VERSION = 1
LAST = "@last"
_OF_MACHINE = ("processor", "cores", "usable_cores", "platform", "device", "torch_threads")


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSeed:
    """One training."""

    seed: int
    value: float
    """Of the best policy: the mean of the test, of the entry's metric or of the return."""
    last: float
    """Of the last policy."""
    timesteps: int
    seconds: float
    """Wall time of training and test."""
    steps_per_second: float
    """Timesteps over the time in training."""
    machine: int
    """Index in the file's `machines`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredEntry:
    """One config with all its seeds."""

    config_id: str
    metric: str | None
    """None: the return, of which more is better; less is better of anything else."""
    seeds: tuple[StoredSeed, ...]

    @property
    def values(self) -> list[float]:
        """Of each seed's best policy."""
        return [seed.value for seed in self.seeds]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSuite:
    """A file of results."""

    path: Path
    written_at: str
    commit: str | None
    machines: tuple[Mapping[str, Any], ...]
    overrides: tuple[str, ...]
    """What was not as in the configs."""
    entries: Mapping[str, StoredEntry]
    """By config id."""


def suite_record(
    found: Mapping[Entry, Sequence[tuple[Run, Mapping[str, Any]]]],
    *,
    left_out: Sequence[LeftOut],
    overrides: Sequence[str],
) -> dict[str, Any]:
    """Return what the file holds.

    Args:
        found: Run and `results.json` of each seed, of the configs whose seeds are all there.
        left_out: What was not trained.
        overrides: Settings that were changed for all of it.
    """
    machines: list[dict[str, Any]] = []
    entries = [_entry(entry, group, machines) for entry, group in found.items()]
    facts = collect()
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "written_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "git_commit": facts["git_commit"],
        "git_has_changes": facts["git_has_changes"],
        "overrides": list(overrides),
        "machines": machines,
        "entries": entries,
        "left_out": [{"config_id": item.config_id, "reason": item.reason} for item in left_out],
    }


def _entry(
    entry: Entry,
    group: Sequence[tuple[Run, Mapping[str, Any]]],
    machines: list[dict[str, Any]],
) -> dict[str, Any]:
    summary = summarize([result for _, result in group], entry.metric)
    seeds = [_seed(entry, run, result, machines) for run, result in group]
    return {
        "config_id": entry.config_id,
        "metric": entry.metric or "return",
        "less_is_better": entry.metric is not None,
        "goal": entry.goal,
        "judged": entry.judged,
        "n_reached": entry.n_reached(summary) if entry.goal is not None else None,
        "n_episodes": summary.n_episodes,
        "n_unfinished": summary.n_unfinished,
        "best": {"mean": summary.best.mean, "half_width_95": summary.best.half_width},
        "last": {"mean": summary.last.mean, "half_width_95": summary.last.half_width},
        "median_steps_per_second": statistics.median(s["steps_per_second"] for s in seeds),
        "mean_seconds": summary.mean_seconds,
        "published": [
            {
                "source": other.source,
                "mean": other.mean,
                "spread": other.spread,
                "timesteps": other.timesteps,
            }
            for other in entry.others
        ],
        "seeds": sorted(seeds, key=lambda seed: seed["seed"]),
    }


def _seed(
    entry: Entry, run: Run, result: Mapping[str, Any], machines: list[dict[str, Any]]
) -> dict[str, Any]:
    sessions = run.read_environment_facts()
    facts = sessions[-1] if sessions else {}
    machine = {key: facts[key] for key in _OF_MACHINE if key in facts} | {
        "python": facts.get("python"),
        "packages": facts.get("packages", {}),
    }
    if machine not in machines:
        machines.append(machine)
    alone = summarize([result], entry.metric)
    return {
        "seed": result["seed"],
        "value": alone.means(entry.judged)[0],
        "best": alone.best.mean,
        "last": alone.last.mean,
        "timesteps": result["timesteps"],
        "seconds": wall_seconds(result),
        "steps_per_second": result["timesteps"] / max(1e-9, float(result["training_seconds"])),
        "stop_reason": result.get("stop_reason"),
        "run": run.id,
        "machine": machines.index(machine),
    }


def write_suite(folder: Path, record: Mapping[str, Any]) -> Path:
    """Write a record under the time of its making, and return the file."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number, path = 1, folder / f"benchmark-{stamp}.json"
    while path.exists():
        number += 1
        path = folder / f"benchmark-{stamp}-{number}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, dict(record))
    return path


def last_suite(folder: Path, overrides: Sequence[str] = ()) -> Path | None:
    """Return the newest file of results of the same settings in a folder; None without one."""
    newest_first = sorted(folder.glob("benchmark-*.json"), key=_order, reverse=True)
    for path in newest_first:
        record = read_json(path)
        if not isinstance(record, dict) or record.get("overrides", []) == list(overrides):
            return path  # a damaged one is told of when it is read
    return None


def _order(path: Path) -> tuple[str, int]:
    parts = path.stem.split("-")
    return "-".join(parts[:3]), int(parts[3]) if len(parts) > 3 else 1


def read_suite(path: Path) -> StoredSuite:
    """Read a file of results.

    Raises:
        UserError: There is none, or it is no file of results of this version or an older one.
    """
    if not path.is_file():
        raise UserError(f"there is no file of results '{path}'")
    record = read_json(path)
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise ConfigError(f"'{path}' is no file of benchmark results")
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ConfigError(
            f"'{path}' has version {version} of the form of results, and this program knows "
            f"{SCHEMA_VERSION}"
        )
    try:
        entries = [_read_entry(part) for part in record["entries"]]
        return StoredSuite(
            path=path,
            written_at=str(record["written_at"]),
            commit=record["git_commit"],
            machines=tuple(record["machines"]),
            overrides=tuple(record["overrides"]),
            entries={entry.config_id: entry for entry in entries},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"'{path}' is damaged: {error!r}") from error


def _read_entry(part: Mapping[str, Any]) -> StoredEntry:
    names = StoredSeed.__dataclass_fields__
    seeds = tuple(StoredSeed(**{name: seed[name] for name in names}) for seed in part["seeds"])
    if not seeds or not all(math.isfinite(seed.value) for seed in seeds):
        raise ValueError(f"{part['config_id']} has no finite results")
    metric = None if part["metric"] == "return" else part["metric"]
    return StoredEntry(config_id=part["config_id"], metric=metric, seeds=seeds)


def known_seconds(suites: Sequence[StoredSuite]) -> dict[str, float]:
    """Return the median wall time of one training of each config; later files count more."""
    found: dict[str, float] = {}
    for suite in suites:
        for config_id, entry in suite.entries.items():
            found[config_id] = statistics.median(seed.seconds for seed in entry.seeds)
    return found
