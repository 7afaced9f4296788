"""Rows of the results page: made of trainings, or read back from a page that was written before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from utils.config import Config, load_config
from utils.environment import solved_threshold
from utils.errors import ConfigError
from utils.reproduction.entries import ENTRIES, Entry
from utils.reproduction.summary import Summary

HEADER = (
    "config",
    "measure",
    "seeds",
    "best policy",
    "last policy",
    "worst seed",
    "solved at",
    "goal",
    "reached",
    "others",
    "episodes",
    "timesteps",
    "wall time",
    "machine",
)
_MACHINES = "## Machines"
_PACKAGES = ("torch", "lightning", "gymnasium", "numpy")


@dataclass(frozen=True, slots=True)
class Row:
    """One config on the page."""

    cells: tuple[str, ...]
    """Of all columns but the last, the config's id first."""
    machines: tuple[str, ...]
    """On what its seeds were trained, in words."""

    @property
    def config_id(self) -> str:
        """The config that was trained."""
        return self.cells[0]


def make_row(entry: Entry, summary: Summary, facts: Sequence[Mapping[str, Any]]) -> Row:
    """Return the row of a config whose seeds are all there.

    Args:
        entry: What is asked of the config.
        summary: Its seeds.
        facts: What was recorded of the machine for each training (`environment.json`).
    """
    config = load_config(entry.config_id)
    of_returns = entry.metric is None
    threshold = _solved_threshold(config) if of_returns else None
    goal, n_seeds = entry.goal, len(summary.seeds)
    unfinished = f" ({summary.n_unfinished} unfinished)" if summary.n_unfinished else ""
    worst = min if of_returns else max
    cells = (
        entry.config_id,
        "return" if entry.metric is None else entry.metric.replace("_", " "),
        _name_seeds(summary.seeds),
        str(summary.best),
        str(summary.last),
        f"{worst(summary.means(entry.judged)):.2f}",
        "-" if threshold is None else f"{threshold:g}",
        "-" if goal is None else f"{goal:g}{' (last)' if entry.judged == 'last' else ''}",
        "-" if goal is None else f"{entry.n_reached(summary)}/{n_seeds}",
        ", ".join(map(str, entry.others)) or "-",
        f"{summary.n_episodes}{unfinished}",
        f"{summary.mean_timesteps:,.0f}",
        f"{summary.mean_seconds:,.0f} s",
    )
    return Row(cells, tuple(dict.fromkeys(map(_describe_machine, facts))))


def read_rows(page: str) -> list[Row]:
    """Return the rows of a page; none of an empty one.

    Raises:
        ConfigError: The page has other columns, so that its rows cannot be taken over.
    """
    lines = page.splitlines()
    table = [_split(line) for line in lines if line.startswith("| ")]
    if not table:
        return []
    if table[0] != HEADER:
        raise ConfigError(
            "the page's table has other columns than those written today; write to another file"
        )
    numbered = lines[lines.index(_MACHINES) :]
    machines = dict(line.split(". ", 1) for line in numbered if line[:1].isdigit())
    return [
        Row(cells[:-1], tuple(machines[number] for number in cells[-1].split(", ")))
        for cells in table[2:]
    ]


def seconds_of(row: Row) -> float:
    """Return the wall time of one training that a row tells."""
    return float(row.cells[HEADER.index("wall time")].removesuffix(" s").replace(",", ""))


def merge_rows(kept: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Return the rows of both, a new one in place of an old one, in the order of the entries.

    A config that is an entry no more is dropped from those that were kept; new ones stand last.
    """
    rows = {row.config_id: row for row in (*kept, *new)}
    order = [entry.config_id for entry in ENTRIES]
    others = [row.config_id for row in new if row.config_id not in order]
    return [rows[config_id] for config_id in (*order, *others) if config_id in rows]


def number_machines(rows: Sequence[Row]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the table's cells, machines by number, and the lines that say what these are."""
    machines = list(dict.fromkeys(machine for row in rows for machine in row.machines))
    cells = [
        (*row.cells, ", ".join(str(machines.index(machine) + 1) for machine in row.machines))
        for row in rows
    ]
    return cells, [_MACHINES, "", *(f"{i}. {name}" for i, name in enumerate(machines, start=1))]


def _solved_threshold(config: Config) -> float | None:
    """Return the config's threshold, or the one of an environment of Gymnasium's own."""
    spec = gym.registry.get(config.env_id)
    return config.spec.solved_threshold if spec is None else solved_threshold(config, spec)


def _split(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip("| ").split(" | "))


def _name_seeds(seeds: Sequence[int]) -> str:
    """Say which: `101 to 110`, or each where some are left out."""
    first, last = seeds[0], seeds[-1]
    if len(seeds) > 1 and last - first == len(seeds) - 1:
        return f"{first} to {last}"
    return ", ".join(map(str, seeds))


def _describe_machine(fact: Mapping[str, Any]) -> str:
    versions = ", ".join(
        f"{name} {fact['packages'][name]}" for name in _PACKAGES if name in fact["packages"]
    )
    device = "" if fact["device"] == "cpu" else f", device {fact['device']}"
    return (
        f"{fact['processor']}, {fact['usable_cores']} cores, {fact['torch_threads']} torch "
        f"thread(s){device}; Python {fact['python']}, {versions}"
    )
