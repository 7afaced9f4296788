"""Speed of vector environments: ours beside Gymnasium's and Stable-Baselines3's.

`python scripts/benchmark_vecenv_fps.py --envs CartPole-v1 --n-envs 8,64`
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, hold_contest, require_sb3
from utils.benchmarks.cli import counts, names, seconds
from utils.errors import exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_vecenv_fps.py", "Measure vector environments.")
    parser.add_option(
        "--envs", type=names, default=["CartPole-v1", "Pendulum-v1"], metavar="ID,ID", help="ids"
    )
    parser.add_option(
        "--n-envs", type=counts, default=[8], metavar="N,N", help="environments (default 8)"
    )
    parser.add_option(
        "--seconds", type=seconds, default=0.4, metavar="S", help="length of a window (default 0.4)"
    )
    parser.add_option(
        "--in-process", action="store_true", help="leave out those that start worker processes"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Measure each environment id at each number of environments."""
    options = read_options()
    require_sb3("benchmark_vecenv_fps.py")
    import torch

    from utils.benchmarks.vecenv_speed import PEER, enter_contestants

    torch.set_num_threads(options.threads)
    settings = {"windows": options.windows, "seconds": options.seconds}
    report = BenchmarkReport("vecenv_fps", torch_threads=options.threads, settings=settings)
    for env_id in options.envs:
        for n_envs in options.n_envs:
            with ExitStack() as stack:
                contestants = enter_contestants(
                    stack, env_id, n_envs=n_envs, with_processes=not options.in_process
                )
                scores = hold_contest(
                    contestants, n_windows=options.windows, seconds=options.seconds
                )
            title = f"{env_id}, {n_envs} environments, random actions"
            report.add_scores(title, scores, unit="steps/s", peer=PEER)
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
