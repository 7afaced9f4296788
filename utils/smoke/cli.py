"""The command line of the smoke tests and how they go through the configs."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Sequence

from utils.config.catalog import find_config_ids
from utils.config.option_parser import OptionParser, whole_number
from utils.smoke.trials import Trial, TrialResult, run_trials, trial_table


def smoke_parser(prog: str, description: str) -> OptionParser:
    """Build a parser with the options of every smoke test."""
    parser = OptionParser(prog=prog, description=description, allow_abbrev=False)
    parser.add_option(
        "--filter", default="", metavar="TEXT", help="configs whose id holds this text or fits it"
    )
    parser.add_option(
        "--limit", type=whole_number(least=1), metavar="N", help="only the first N of them"
    )
    parser.add_option(
        "--timesteps",
        type=whole_number(least=1),
        metavar="N",
        help="environment steps of each config (default 100)",
    )
    parser.add_option(
        "--timeout",
        type=whole_number(least=1),
        default=300,
        metavar="S",
        help="seconds after which a config has failed (default 300)",
    )
    parser.add_option(
        "--jobs",
        type=whole_number(least=1),
        metavar="N",
        help="configs at a time (default: one for each core)",
    )
    return parser


def smoke(
    trial: Trial,
    options: argparse.Namespace,
    *,
    preload: Sequence[str],
    tells_apart: Callable[[str], object] | None = None,
) -> int:
    """Try the chosen configs, print each as it ends and all as a table.

    One whose package, ROM or other file is not installed is told with the reason and is no failure.

    Args:
        trial: What is tried.
        options: Of `smoke_parser`.
        preload: Heavy modules that trials import.
        tells_apart: Gives what a trial depends on; of several configs with an equal value only the
            first is tried. None: all are.

    Returns:
        Exit code: 1 if any config failed.

    Raises:
        ConfigError: No config fits the filter.
    """
    config_ids = find_config_ids(options.filter)
    if tells_apart is not None:
        config_ids = _first_of_each(config_ids, tells_apart)
    config_ids = config_ids[: options.limit]
    results: list[TrialResult] = []
    trials = run_trials(
        trial,
        config_ids,
        timeout_seconds=options.timeout,
        preload=preload,
        n_jobs=options.jobs or _count_cores(),
    )
    with contextlib.closing(trials):  # an interrupt ends the trials under way
        for result in trials:
            results.append(result)
            print(
                f"[{len(results)}/{len(config_ids)}] {result.config_id}: {result.outcome} "
                f"({result.seconds:.1f} s)",
                flush=True,
            )
    results.sort(key=lambda result: config_ids.index(result.config_id))
    print(f"\n{trial_table(results)}", flush=True)
    return int(any(result.outcome == "failed" for result in results))


def _first_of_each(config_ids: Sequence[str], tells_apart: Callable[[str], object]) -> list[str]:
    seen: list[object] = []
    chosen = []
    for config_id in config_ids:
        value = tells_apart(config_id)
        if value not in seen:
            seen.append(value)
            chosen.append(config_id)
    return chosen


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
