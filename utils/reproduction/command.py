"""One benchmark suite from beginning to end: plan, train, write, compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.config import CONFIG_DIR, load_config
from utils.config.catalog import environment_files
from utils.errors import RunFailedError, UserError
from utils.reproduction.cli import FIRST_SEED, PAGE
from utils.reproduction.entries import ENTRIES, Entry, select_entries
from utils.reproduction.regressions import compare_suites, describe_comparison
from utils.reproduction.runner import Job, find_result, run_jobs
from utils.reproduction.store import (
    LAST,
    StoredSuite,
    known_seconds,
    last_suite,
    read_suite,
    suite_record,
    write_suite,
)
from utils.reproduction.suite import LeftOut, Machine, Suite, every_config, plan_suite
from utils.reproduction.summary import summarize, unmeasured
from utils.reproduction.tables import TABLES
from utils.reproduction.time_left import describe_seconds
from utils.run.run import Run
from utils.storage import write_bytes
from utils.text_tables import counted

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
    old = _old_suite(options, store)
    suite = _plan(options, out, store, old)
    _tell(_describe_plan(suite, options, out))
    if options.plan:
        return 0
    flat = [job for group in suite.jobs.values() for job in group]
    failures: list[str] = []
    if not options.no_training:
        failures = _train(flat, out, options.jobs, suite)
    found, unknown = _complete(suite, out)
    for item in unknown:
        _tell(f"without a value: {item.config_id}: {item.reason}")
    _write_page(found, options)
    code = 0
    if found:
        left_out = [*suite.left_out, *unknown]
        record = suite_record(found, left_out=left_out, overrides=_overrides(options))
        path = write_suite(store, record)
        _tell(f"results: {path}")
        code = _compare(old, path)
    if failures:
        raise RunFailedError("\n".join(failures))
    return code


def _plan(options: argparse.Namespace, out: Path, store: Path, old: StoredSuite | None) -> Suite:
    import torch

    entries = select_entries(options.filter, _candidates(options))
    jobs = {entry: make_jobs(entry, options) for entry in entries}
    suite = plan_suite(
        jobs,
        machine=Machine(has_gpu=torch.cuda.is_available()),
        seconds=_table_seconds(options) | _known_seconds(store, old, _overrides(options)),
        budget_seconds=options.budget,
        is_done={job: _is_done(job, out) for group in jobs.values() for job in group},
        n_processes=options.jobs,
    )
    _check_settings(suite, options)
    return suite


def _candidates(options: argparse.Namespace) -> Sequence[Entry]:
    if options.table is not None:
        return TABLES[options.table].entries
    return _all_entries() if options.all else ENTRIES


def _table_seconds(options: argparse.Namespace) -> dict[str, float]:
    """Return what a training of a table takes as long as none was made here."""
    if options.table is None or _overrides(options):
        return {}
    table = TABLES[options.table]
    return {entry.config_id: table.seconds for entry in table.entries}


def _is_done(job: Job, out: Path) -> bool:
    try:
        return find_result(job, out) is not None
    except UserError:
        return False  # it does not take the settings, which the plan tells


def _check_settings(suite: Suite, options: argparse.Namespace) -> None:
    """Refuse a setting that no config takes, where all are left out for it.

    Raises:
        UserError: It is the configs' own message.
    """
    reasons = [item.reason for item in suite.left_out if item.reason.startswith("--set")]
    if options.set and reasons and not suite.jobs and len(reasons) == len(suite.left_out):
        raise UserError(reasons[0])


def _overrides(options: argparse.Namespace) -> list[str]:
    """Return what is not as in the configs, for those who read the results."""
    return [*([] if options.brief is None else [f"--brief {options.brief}"]), *options.set]


def _all_entries() -> list[Entry]:
    files = environment_files(CONFIG_DIR)
    return every_config([config_id for file in files for config_id in file.config_ids])


def make_jobs(entry: Entry, options: argparse.Namespace) -> list[Job]:
    """Return the trainings of one row."""
    first, n_seeds = options.first_seed, options.seeds or entry.n_seeds
    settings = (*_briefly(entry, options), *options.set)
    return [Job(entry.config_id, seed, settings) for seed in range(first, first + n_seeds)]


def _briefly(entry: Entry, options: argparse.Namespace) -> list[str]:
    if options.brief is None:
        return []
    from utils.smoke.brief import brief_overrides

    return brief_overrides(load_config(entry.config_id), timesteps=options.brief)


def _known_seconds(
    store: Path, old: StoredSuite | None, overrides: Sequence[str]
) -> dict[str, float]:
    """Return what one training takes: by the page, then by results of the same settings."""
    from utils.reproduction.rows import read_rows, seconds_of

    page = read_rows(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() and not overrides else []
    last = last_suite(store, overrides)
    suites = [] if old is None or old.overrides != tuple(overrides) else [old]
    suites += [] if last is None else [read_suite(last)]
    return {row.config_id: seconds_of(row) for row in page} | known_seconds(suites)


def _old_suite(options: argparse.Namespace, store: Path) -> StoredSuite | None:
    """Read what to compare with, before anything is trained; None where nobody asked."""
    given, overrides = options.compare, _overrides(options)
    if given is None:
        return None
    path = last_suite(store, overrides) if given == LAST else Path(given)
    if path is None:
        which = f" of these settings ({', '.join(overrides)})" if overrides else ""
        raise UserError(
            f"there are no results{which} in '{store}' to compare with yet: leave --compare out "
            "once, or name a file"
        )
    old = read_suite(path)
    if old.overrides != tuple(overrides):
        then, now = (", ".join(words) or "the configs' own" for words in (old.overrides, overrides))
        raise UserError(f"'{path}' has results of other settings ({then}) than these ({now})")
    return old


def _describe_plan(suite: Suite, options: argparse.Namespace, out: Path) -> str:
    flat = [job for group in suite.jobs.values() for job in group]
    waiting = [job for job in flat if find_result(job, out) is None]
    lines = [f"{counted(len(suite.jobs), 'config')}, {counted(len(flat), 'training')}"]
    if options.table is not None:
        lines.insert(0, _describe_table(options))
    if options.plan:
        for entry, group in suite.jobs.items():
            n_left = sum(job in waiting for job in group)
            cost = suite.seconds.get(entry.config_id)
            known = "" if cost is None else f", some {describe_seconds(cost)} each"
            lines.append(f"  {entry.config_id}: {n_left} of {len(group)} to train{known}")
    lines.append(_describe_cost(suite, waiting, options))
    return "\n".join([*lines, *_describe_left_out(suite.left_out)])


def _describe_table(options: argparse.Namespace) -> str:
    """Say what a table is, and what all of it costs on the card that this was measured on."""
    table = TABLES[options.table]
    entries = select_entries(options.filter, table.entries)
    n = sum(options.seeds or entry.n_seeds for entry in entries)
    one, every = (describe_seconds(x) for x in (table.seconds, n * table.seconds))
    return (
        f"{table.summary}; on one H200 the updates of one training take {one}, of all {n} {every}"
    )


def _describe_left_out(left_out: Sequence[LeftOut]) -> list[str]:
    """Return a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for item in left_out:
        by_reason.setdefault(item.reason, []).append(item.config_id)
    return [f"left out: {', '.join(ids)}: {reason}" for reason, ids in by_reason.items()]


def _describe_cost(suite: Suite, waiting: Sequence[Job], options: argparse.Namespace) -> str:
    """Say how much is left to train and how long that takes, as far as anybody knows."""
    if not suite.jobs and suite.left_out:
        return "total: nothing that this machine can train"
    if not waiting:
        return "total: nothing left to train"
    seconds, n_unknown = suite.estimate(waiting)
    text = f"total: {len(waiting)} to train"
    if n_unknown == len(waiting):
        return f"{text}; nobody knows yet how long that takes"
    wall = f"about {describe_seconds(seconds / options.jobs)} with --jobs {options.jobs}"
    text = f"{text}, {wall} by earlier results"
    if options.jobs > 1:
        text += f" ({describe_seconds(seconds)} of a core)"
    return f"{text}; and {n_unknown} that nobody knows of" if n_unknown else text


def _train(jobs: Sequence[Job], out: Path, n_processes: int, suite: Suite) -> list[str]:
    try:
        return run_jobs(jobs, out, n_processes=n_processes, tell=_tell, seconds=suite.seconds)
    except KeyboardInterrupt:
        _tell("stopped; the same command goes on where this one was")
        raise


def _complete(suite: Suite, out: Path) -> tuple[Found, list[LeftOut]]:
    """Return the results of the configs whose seeds are all there, and those without a value."""
    complete: Found = {}
    unknown = []
    for entry, group in suite.jobs.items():
        results = [item for job in group if (item := find_result(job, out)) is not None]
        if len(results) < len(group):
            continue
        reason = unmeasured([result for _, result in results], entry.metric)
        if reason is None:
            complete[entry] = results
        else:
            unknown.append(LeftOut(entry.config_id, reason))
    return complete, unknown


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
    is_trial = _overrides(options) or options.first_seed != FIRST_SEED
    if options.write is None or is_trial or not options.write.is_file():
        kept = []
    else:
        kept = read_rows(options.write.read_text(encoding="utf-8"))
    rows = merge_rows(kept, new)
    return write_page(rows, overrides=_overrides(options)) if rows else ""


def _compare(old: StoredSuite | None, path: Path) -> int:
    if old is None:
        return 0
    new = read_suite(path)
    found = compare_suites(old, new)
    _tell(describe_comparison(old, new, found))
    return _REGRESSION if any(item.verdict == "regression" for item in found) else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
