"""Speed of collecting rollouts with a policy: ours beside Stable-Baselines3's.

`python scripts/benchmark_collectors.py --envs CartPole-v1 --n-envs 8 --n-steps 32`
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, hold_contest, require_sb3
from utils.benchmarks.cli import count, counts, names, seconds
from utils.errors import exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_collectors.py", "Measure the collection of rollouts.")
    parser.add_option(
        "--envs", type=names, default=["CartPole-v1", "Pendulum-v1"], metavar="ID,ID", help="ids"
    )
    parser.add_option(
        "--n-envs", type=counts, default=[8, 64], metavar="N,N", help="environments (default 8,64)"
    )
    parser.add_option(
        "--n-steps", type=count, default=32, metavar="N", help="steps of a rollout (default 32)"
    )
    parser.add_option(
        "--seconds", type=seconds, default=0.4, metavar="S", help="length of a window (default 0.4)"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Measure each environment id at each number of environments."""
    options = read_options()
    require_sb3("benchmark_collectors.py")
    import torch

    from utils.benchmarks.collector_speed import PEER, enter_contestants

    torch.set_num_threads(options.threads)
    settings = {
        "windows": options.windows,
        "seconds": options.seconds,
        "n_steps": options.n_steps,
    }
    report = BenchmarkReport("collectors", torch_threads=options.threads, settings=settings)
    for env_id in options.envs:
        for n_envs in options.n_envs:
            with ExitStack() as stack:
                contestants = enter_contestants(
                    stack, env_id, n_envs=n_envs, n_steps=options.n_steps
                )
                scores = hold_contest(
                    contestants, n_windows=options.windows, seconds=options.seconds
                )
            title = f"{env_id}, {n_envs} environments, rollouts of {options.n_steps} steps with GAE"
            report.add_scores(title, scores, unit="steps/s", peer=PEER)
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
