"""Train every config of the results page over several seeds and write the page.

`python scripts/reproduce_results.py --jobs 2 --write`; stopped and started again it goes on with
what is missing. `--filter CartPole` takes part of it; the page keeps its other rows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks.cli import count
from utils.config.option_parser import OptionParser
from utils.errors import RunFailedError, exit_on_user_error
from utils.reproduction import Entry, Job, find_result, run_jobs, select_entries, summarize
from utils.storage import write_bytes

# Settings are tuned with small seeds; the page shows seeds that no one has looked at before.
FIRST_SEED = 101
PAGE = Path(__file__).resolve().parents[1] / "VIBES" / "RESULTS.md"


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(
        prog="reproduce_results.py",
        description="Train the configs of the results page and write it.",
        allow_abbrev=False,
    )
    parser.add_option("--filter", default="", metavar="TEXT", help="configs whose id holds this")
    parser.add_option(
        "--seeds", type=count, metavar="N", help="seeds of a row (default 3, or what it asks for)"
    )
    parser.add_option(
        "--first-seed",
        type=count,
        default=FIRST_SEED,
        metavar="N",
        help=f"count seeds from here (default {FIRST_SEED}; smaller ones chose the settings)",
    )
    parser.add_option(
        "--jobs", type=count, default=1, metavar="N", help="trainings side by side (default 1)"
    )
    parser.add_option(
        "--out", type=Path, default=Path("runs/results"), metavar="DIR", help="folder of the runs"
    )
    parser.add_option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of every training, for a trial",
    )
    parser.add_option(
        "--write",
        nargs="?",
        const=PAGE,
        type=Path,
        metavar="FILE",
        help="write the page (default VIBES/RESULTS.md) rather than print it",
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Train what is missing, then write the page."""
    options = read_options()
    entries = select_entries(options.filter)
    jobs = {entry: make_jobs(entry, options) for entry in entries}
    flat = [job for group in jobs.values() for job in group]
    failures = run_jobs(
        flat,
        options.out.resolve(),
        n_processes=options.jobs,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    text = build_page(jobs, options)
    if not text:
        print("no config is complete, so there is no page yet", file=sys.stderr)
    elif options.write is None:
        print(text)
    else:
        write_bytes(options.write, text.encode())
        print(f"written to {options.write}")
    if failures:
        raise RunFailedError("\n".join(failures))


def make_jobs(entry: Entry, options: argparse.Namespace) -> list[Job]:
    """Return the trainings of one row."""
    first, n_seeds = options.first_seed, options.seeds or entry.n_seeds
    seeds = range(first, first + n_seeds)
    return [Job(entry.config_id, seed, tuple(options.set)) for seed in seeds]


def build_page(jobs: dict[Entry, list[Job]], options: argparse.Namespace) -> str:
    """Return the page: rows that are complete, and those that its file has of other configs.

    A trial, of other settings or seeds, stays by itself. "" where there is no row.
    """
    from utils.reproduction.page import write_page
    from utils.reproduction.rows import make_row, merge_rows, read_rows

    new = []
    for entry, group in jobs.items():
        found = [find_result(job, options.out.resolve()) for job in group]
        complete = [item for item in found if item is not None]
        if len(complete) == len(group):
            facts = [fact for run, _ in complete for fact in run.read_environment_facts()]
            summary = summarize([result for _, result in complete], entry.metric)
            new.append(make_row(entry, summary, facts))
    is_trial = options.set or options.first_seed != FIRST_SEED
    if options.write is None or is_trial or not options.write.is_file():
        kept = []
    else:
        kept = read_rows(options.write.read_text(encoding="utf-8"))
    rows = merge_rows(kept, new)
    return write_page(rows, overrides=options.set) if rows else ""


if __name__ == "__main__":
    exit_on_user_error(main)
