"""One benchmark suite from beginning to end: plan, train, write, compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.config import CONFIG_DIR
from utils.config.catalog import environment_files
from utils.errors import RunFailedError, UserError
from utils.reproduction.cli import FIRST_SEED, PAGE
from utils.reproduction.entries import ENTRIES, Entry, select_entries
from utils.reproduction.regressions import compare_suites, describe_comparison
from utils.reproduction.runner import Job, describe_seconds, find_result, run_jobs
from utils.reproduction.store import (
    LAST,
    StoredSuite,
    known_seconds,
    last_suite,
    read_suite,
    suite_record,
    write_suite,
)
from utils.reproduction.suite import Machine, Suite, every_config, plan_suite
from utils.reproduction.summary import summarize
from utils.run.run import Run
from utils.storage import write_bytes

_REGRESSION = 1
Found = dict[Entry, list[tuple[Run, Mapping[str, Any]]]]


def run_suite(options: argparse.Namespace) -> int:
    """Do what the command line asks for.

    Returns:
        The exit code: 1 where the comparison names a regression, else 0.

    Raises:
        RunFailedError: A training failed; all else is done.
        UserError: A mistake in what was asked.
    """
    out = options.out.resolve()
    store = (options.json or options.out).resolve()
    old = _old_suite(options.compare, store)
    suite = _plan(options, out, store, old)
    _tell(_describe_plan(suite, options, out))
    if options.plan:
        return 0
    flat = [job for group in suite.jobs.values() for job in group]
    failures: list[str] = []
    if not options.no_training:
        failures = _train(flat, out, options.jobs, suite)
    found = _complete(suite, out)
    _write_page(found, options)
    code = 0
    if found:
        record = suite_record(found, left_out=suite.left_out, overrides=options.set)
        path = write_suite(store, record)
        _tell(f"results: {path}")
        code = _compare(old, path)
    if failures:
        raise RunFailedError("\n".join(failures))
    return code


def _plan(options: argparse.Namespace, out: Path, store: Path, old: StoredSuite | None) -> Suite:
    import torch

    entries = select_entries(options.filter, _all_entries() if options.all else ENTRIES)
    jobs = {entry: make_jobs(entry, options) for entry in entries}
    return plan_suite(
        jobs,
        machine=Machine(has_gpu=torch.cuda.is_available()),
        seconds=_known_seconds(store, old),
        budget_seconds=options.budget,
        is_done={
            job: find_result(job, out) is not None for group in jobs.values() for job in group
        },
        n_processes=options.jobs,
    )


def _all_entries() -> list[Entry]:
    files = environment_files(CONFIG_DIR)
    return every_config([config_id for file in files for config_id in file.config_ids])


def make_jobs(entry: Entry, options: argparse.Namespace) -> list[Job]:
    """Return the trainings of one row."""
    first, n_seeds = options.first_seed, options.seeds or entry.n_seeds
    seeds = range(first, first + n_seeds)
    return [Job(entry.config_id, seed, tuple(options.set)) for seed in seeds]


def _known_seconds(store: Path, old: StoredSuite | None) -> dict[str, float]:
    """Return what one training takes: by the page, then by files of results."""
    from utils.reproduction.rows import read_rows, seconds_of

    page = read_rows(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else []
    last = last_suite(store)
    suites = [] if old is None else [old]
    suites += [] if last is None else [read_suite(last)]
    return {row.config_id: seconds_of(row) for row in page} | known_seconds(suites)


def _old_suite(given: str | None, store: Path) -> StoredSuite | None:
    """Read what to compare with, before anything is trained; None where nobody asked."""
    if given is None:
        return None
    path = last_suite(store) if given == LAST else Path(given)
    if path is None:
        raise UserError(
            f"there are no results in '{store}' to compare with yet: leave --compare out once, or "
            "name a file"
        )
    return read_suite(path)


def _describe_plan(suite: Suite, options: argparse.Namespace, out: Path) -> str:
    flat = [job for group in suite.jobs.values() for job in group]
    waiting = [job for job in flat if find_result(job, out) is None]
    lines = [f"{len(suite.jobs)} configs, {len(flat)} trainings"]
    if options.plan:
        for entry, group in suite.jobs.items():
            n_left = sum(job in waiting for job in group)
            cost = suite.seconds.get(entry.config_id)
            known = "" if cost is None else f", some {describe_seconds(cost)} each"
            lines.append(f"  {entry.config_id}: {n_left} of {len(group)} to train{known}")
    seconds = suite.estimate(waiting)
    if waiting and seconds is not None:
        lines[0] += f", about {describe_seconds(seconds / options.jobs)} by earlier results"
    lines += [f"left out: {item.config_id}: {item.reason}" for item in suite.left_out]
    return "\n".join(lines)


def _train(jobs: Sequence[Job], out: Path, n_processes: int, suite: Suite) -> list[str]:
    try:
        return run_jobs(jobs, out, n_processes=n_processes, tell=_tell, seconds=suite.seconds)
    except KeyboardInterrupt:
        _tell("stopped; the same command goes on where this one was")
        raise


def _complete(suite: Suite, out: Path) -> Found:
    """Return the results of the configs whose seeds are all there."""
    complete: Found = {}
    for entry, group in suite.jobs.items():
        found = [find_result(job, out) for job in group]
        results = [item for item in found if item is not None]
        if len(results) == len(group):
            complete[entry] = results
    return complete


def _write_page(found: Found, options: argparse.Namespace) -> None:
    text = _build_page(found, options)
    if not text:
        _tell("no config is complete, so there is no page yet")
    elif options.write is None:
        print(text)
    else:
        write_bytes(options.write, text.encode())
        print(f"written to {options.write}")


def _build_page(found: Found, options: argparse.Namespace) -> str:
    """Return the page: rows that are complete, and those that its file has of other configs.

    A trial, of other settings or seeds, stays by itself. "" where there is no row.
    """
    from utils.reproduction.page import write_page
    from utils.reproduction.rows import make_row, merge_rows, read_rows

    new = []
    for entry, group in found.items():
        facts = [fact for run, _ in group for fact in run.read_environment_facts()]
        summary = summarize([result for _, result in group], entry.metric)
        new.append(make_row(entry, summary, facts))
    is_trial = options.set or options.first_seed != FIRST_SEED
    if options.write is None or is_trial or not options.write.is_file():
        kept = []
    else:
        kept = read_rows(options.write.read_text(encoding="utf-8"))
    rows = merge_rows(kept, new)
    return write_page(rows, overrides=options.set) if rows else ""


def _compare(old: StoredSuite | None, path: Path) -> int:
    if old is None:
        return 0
    new = read_suite(path)
    found = compare_suites(old, new)
    _tell(describe_comparison(old, new, found))
    return _REGRESSION if any(item.verdict == "regression" for item in found) else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
