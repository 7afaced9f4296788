"""Which trainings fit a machine and a budget of time, and why the others are left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from utils.config import Config, ImitationConfig, load_config
from utils.demonstrations.dataset_ids import absent_dataset, has_dataset
from utils.environment.families.extras import missing_extras
from utils.environment.families.table import family_of
from utils.errors import UserError
from utils.reproduction.entries import ENTRIES, Entry
from utils.reproduction.runner import Job
from utils.reproduction.time_left import describe_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """What decides about a training."""

    has_gpu: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A config that is not trained."""

    config_id: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """What is trained, in the order of the page."""

    jobs: dict[Entry, list[Job]]
    left_out: list[LeftOut]
    seconds: dict[str, float]
    """What one training of a config will take, as far as anybody knows."""

    def estimate(self, jobs: Sequence[Job]) -> tuple[float, int]:
        """Return the seconds of those trainings that are known, one after another.

        Returns:
            Seconds, and of how many trainings nobody knows them.
        """
        known = [self.seconds.get(job.config_id) for job in jobs]
        return math.fsum(s for s in known if s is not None), known.count(None)


def every_config(config_ids: Sequence[str]) -> list[Entry]:
    """Return the entries of the page, and one without a goal for every other config."""
    known = {entry.config_id for entry in ENTRIES}
    others = [Entry(config_id, 3, None) for config_id in config_ids if config_id not in known]
    return [*ENTRIES, *others]


def plan_suite(
    jobs: Mapping[Entry, list[Job]],
    *,
    machine: Machine,
    seconds: Mapping[str, float],
    budget_seconds: float | None,
    is_done: Mapping[Job, bool],
    n_processes: int,
) -> Suite:
    """Decide what to train.

    With a budget the cheapest configs come first, with all their seeds; those whose cost nobody
    knows are left out then. What is there already costs nothing.

    Args:
        jobs: All that was asked for.
        machine: What there is.
        seconds: What one training of a config takes, where it is known.
        budget_seconds: Wall time for everything; None without a bound.
        is_done: Which trainings have a result.
        n_processes: Trainings side by side.
    """
    fitting: dict[Entry, list[Job]] = {}
    left_out: list[LeftOut] = []
    for entry, group in jobs.items():
        reason = None if all(is_done[job] for job in group) else _why_not(group[0], machine)
        if reason is None:
            fitting[entry] = group
        else:
            left_out.append(LeftOut(entry.config_id, reason))
    if budget_seconds is not None:
        kept, beyond = _within(
            fitting, budget_seconds * n_processes, seconds=seconds, is_done=is_done
        )
        left_out += beyond
        fitting = {entry: group for entry, group in fitting.items() if entry in kept}
    return Suite(jobs=fitting, left_out=left_out, seconds=dict(seconds))


def _why_not(job: Job, machine: Machine) -> str | None:
    """Return what this machine lacks for a training; None for nothing."""
    try:
        config = load_config(job.config_id, job.settings)
    except UserError as error:
        return str(error).splitlines()[0]
    if extras := missing_extras(config.to_dict()):
        extra = ",".join(extras)
        return f"the extra '{extra}' is not installed (pip install -e '.[{extra}]')"
    try:
        family_of(config.env_id).make_known(config.env_id)  # a game's ROM may be missing
        _check_dataset(config)
    except UserError as error:
        return str(error).splitlines()[0]
    return config.missing_gpu(has_gpu=machine.has_gpu)


def _check_dataset(config: Config) -> None:
    """Refuse a config whose demonstrations are not here.

    Raises:
        MissingAssetError: It says how to get them.
    """
    if not isinstance(config, ImitationConfig) or config.dataset == "scripted":
        return
    if not config.download_dataset and not has_dataset(config.dataset):
        raise absent_dataset(config.dataset)


def _within(
    jobs: Mapping[Entry, list[Job]],
    budget: float,
    *,
    seconds: Mapping[str, float],
    is_done: Mapping[Job, bool],
) -> tuple[set[Entry], list[LeftOut]]:
    """Return the configs whose costs together stay within a budget, the cheapest first."""
    costs: dict[Entry, float] = {}
    for entry, group in jobs.items():
        n_left = sum(not is_done[job] for job in group)
        costs[entry] = n_left * seconds.get(entry.config_id, math.inf) if n_left else 0.0
    kept: set[Entry] = set()
    spent = 0.0
    left_out = {}
    for entry in sorted(costs, key=lambda entry: costs[entry]):
        if spent + costs[entry] <= budget:
            kept.add(entry)
            spent += costs[entry]
        elif math.isinf(costs[entry]):
            left_out[entry] = "nobody knows how long it takes, and there is a time budget"
        else:
            left_out[entry] = (
                f"beyond the time budget: it takes some {describe_seconds(costs[entry])} of a core"
            )
    return kept, [LeftOut(e.config_id, left_out[e]) for e in jobs if e in left_out]
