"""Speed of our collector on each family of environments, beside the bare environments.

`python scripts/benchmark_env_families.py --envs HalfCheetah-v5,MiniGrid-DoorKey-5x5-v0`
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, hold_contest
from utils.benchmarks.cli import count, names, seconds
from utils.errors import exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser(
        "benchmark_env_families.py", "Measure the collector on every family of environments."
    )
    parser.add_option(
        "--envs", type=names, metavar="ID,ID", help="ids (default: one or two of each family)"
    )
    parser.add_option(
        "--n-envs", type=count, metavar="N", help="environments (default: 16, fewer of slow ones)"
    )
    parser.add_option(
        "--seconds", type=seconds, default=0.5, metavar="S", help="length of a window (default 0.5)"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Measure one environment after the other; leave out what is not installed."""
    options = read_options()
    import torch

    from utils.benchmarks import env_families as families

    torch.set_num_threads(options.threads)
    subjects = families.choose_subjects(options.envs, n_envs=options.n_envs)
    settings = {"windows": options.windows, "seconds": options.seconds}
    report = BenchmarkReport("env_families", torch_threads=options.threads, settings=settings)
    for subject in subjects:
        if reason := families.why_not_installed(subject.env_id):
            print(f"\n{subject.env_id}: left out: {reason}")
            continue
        with ExitStack() as stack:
            contestants = families.enter_contestants(stack, subject)
            scores = hold_contest(contestants, n_windows=options.windows, seconds=options.seconds)
        title = f"{subject.env_id}, {subject.n_envs} environments, given random actions"
        report.add_scores(title, scores, unit="steps/s", peer=families.BARE)
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
