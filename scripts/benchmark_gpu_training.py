"""Speed of whole trainings on a GPU: PPO on CartPole with environments, rollout and update on it.

`python scripts/benchmark_gpu_training.py --n-envs 4096,16384,65536` times ours through Lightning's
`fit`, with the loop that the agent takes and as plain CUDA graphs, and a fully jitted JAX PPO with
the same settings where JAX is installed.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser
from utils.benchmarks.cli import count, counts, names
from utils.errors import UserError, exit_on_user_error

CONTESTANTS = ("ours", "graph", "eager", "jax")


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser(
        "benchmark_gpu_training.py", "Measure whole trainings of CartPole on a GPU."
    )
    parser.add_option(
        "--n-envs",
        type=counts,
        default=[4096, 16384, 65536],
        metavar="N,N",
        help="numbers of environments (default 4096,16384,65536)",
    )
    parser.add_option(
        "--contestants",
        type=names,
        default=["ours", "graph", "jax"],
        metavar="A,B",
        help="among ours, graph (plain CUDA graphs), eager and jax (default ours,graph,jax)",
    )
    parser.add_option(
        "--iterations",
        type=count,
        default=100,
        metavar="N",
        help="iterations of a window of ours; the others make a tenth (default 100)",
    )
    parser.add_option("--device", default="cuda", metavar="NAME", help="cuda (default) or cpu")
    options = parser.parse_or_refuse()
    unknown = [name for name in options.contestants if name not in CONTESTANTS]
    if unknown or options.device not in ("cuda", "cpu"):
        wrong = f"--contestants {','.join(unknown)}" if unknown else f"--device {options.device}"
        raise UserError(f"{wrong}: not known; see --help")
    return options


def main() -> None:
    """Time every contestant at every size, one after another."""
    options = read_options()
    # JAX would take most of the memory for itself at its first use.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import torch

    from utils.benchmarks import gpu_training

    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no CUDA device here")
    torch.set_num_threads(options.threads)
    report = BenchmarkReport(
        "gpu_training",
        torch_threads=options.threads,
        settings={
            "device": gpu_training.device_name(options.device),
            "windows": options.windows,
            "iterations": options.iterations,
        },
    )
    taking_part = []
    for name in options.contestants:
        reason = gpu_training.why_not(name, device=options.device)
        if reason is None:
            taking_part.append(name)
        else:
            print(f"without {name}: {reason}")
    few = max(options.iterations // 10, 1)
    iterations = {name: options.iterations if name == "ours" else few for name in CONTESTANTS}
    for n_envs in options.n_envs:
        timed = gpu_training.contestants(
            taking_part,
            n_envs=n_envs,
            n_parts=options.windows + 1,
            iterations=iterations,
            seed=0,
        )
        speeds = [run(options.device) for run in timed.values()]
        report.add_table(
            f"PPO on CartPole-v1, {n_envs:,} environments on {report.settings['device']}",
            ("", "M steps/s", "lowest", "highest", "start-up s", "episode length at the end"),
            [
                (
                    speed.name,
                    f"{speed.median / 1e6:.2f}",
                    f"{min(speed.rates) / 1e6:.2f}",
                    f"{max(speed.rates) / 1e6:.2f}",
                    f"{speed.start_seconds:.2f}",
                    "-" if speed.mean_length is None else f"{speed.mean_length:.0f}",
                )
                for speed in speeds
            ],
            records=[dataclasses.asdict(speed) | {"median": speed.median} for speed in speeds],
        )
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
