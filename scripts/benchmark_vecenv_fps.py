"""Speed of vector environments: ours beside Gymnasium's, Stable-Baselines3's and others.

`python scripts/benchmark_vecenv_fps.py --envs CartPole-v1 --n-envs 8,4096,65536 --env-threads 2`
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, hold_contest, require_sb3
from utils.benchmarks.cli import count, counts, names, seconds
from utils.errors import UserError, exit_on_user_error


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
        "--env-threads",
        type=count,
        default=1,
        metavar="N",
        help="threads of one more contestant of ours, and of EnvPool (default 1)",
    )
    parser.add_option(
        "--pufferlib-source",
        type=Path,
        metavar="FILE",
        help="PufferLib's cartpole.h, to be compiled and measured beside",
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

    from gym_envs.simd.compilation import most_threads
    from utils.benchmarks.optional_peers import missing_peers
    from utils.benchmarks.vecenv_speed import choose_peer, enter_contestants
    from utils.environment.families.standard import find_spec

    for env_id in options.envs:  # a mistake is told before anything is measured
        find_spec(env_id)
    if options.env_threads > most_threads():
        raise UserError(
            f"--env-threads {options.env_threads}: this machine has {most_threads()} cores "
            "(numba's threads)"
        )
    torch.set_num_threads(options.threads)
    settings = {
        "windows": options.windows,
        "seconds": options.seconds,
        "env_threads": options.env_threads,
        "not_installed": missing_peers(),
    }
    report = BenchmarkReport("vecenv_fps", torch_threads=options.threads, settings=settings)
    for name in missing_peers():
        print(f"{name} is not installed: left out")
    for env_id in options.envs:
        for n_envs in options.n_envs:
            with ExitStack() as stack:
                contestants = enter_contestants(
                    stack,
                    env_id,
                    n_envs=n_envs,
                    with_processes=not options.in_process,
                    n_threads=options.env_threads,
                    pufferlib_source=options.pufferlib_source,
                )
                scores = hold_contest(
                    contestants, n_windows=options.windows, seconds=options.seconds
                )
            title = f"{env_id}, {n_envs:,} environments, given random actions"
            report.add_scores(title, scores, unit="steps/s", peer=choose_peer(contestants))
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
