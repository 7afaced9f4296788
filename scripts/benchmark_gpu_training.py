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
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser
from utils.benchmarks.cli import count, counts, names
from utils.errors import UserError, exit_on_user_error

if TYPE_CHECKING:
    from utils.benchmarks.gpu_training import TrainingSpeed
    from utils.config import Config

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
        speeds = [
            time_training(
                name,
                n_envs=n_envs,
                n_parts=options.windows + 1,
                n_iterations=iterations[name],
                device=options.device,
            )
            for name in taking_part
        ]
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


def time_training(
    name: str, *, n_envs: int, n_parts: int, n_iterations: int, device: str
) -> TrainingSpeed:
    """Time one training of a contestant; its first part is not among the rates."""
    from utils.benchmarks.gpu_training import benchmark_config, time_jax

    if name == "jax":
        return time_jax(n_envs=n_envs, n_parts=n_parts, n_iterations=n_iterations, seed=0)
    config = benchmark_config(
        n_envs=n_envs, n_parts=n_parts, n_iterations=n_iterations, seed=0, device=device
    )
    return time_ours(config, loop=None if name == "ours" else name)


def time_ours(config: Config, *, loop: str | None) -> TrainingSpeed:
    """Train through Lightning's `fit` with a run folder, metrics and checkpoints.

    Args:
        config: From `benchmark_config`.
        loop: "graph" or "eager" instead of the loop that the agent takes.
    """
    from agents import build_agent
    from agents.ppo.eager_loop import EagerLoop
    from agents.ppo.graph_loop import GraphLoop
    from trainer_callbacks.build import build_callbacks
    from utils.benchmarks.gpu_training import EpochMoments, speed_from_moments
    from utils.run import Run
    from utils.trainer_factory import build_trainer

    moments = EpochMoments()
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(folder, config_id=config.config_id, config_dict=config.to_dict())
        agent = build_agent(config, run=run)
        if loop is not None:
            agent.device_loop = {"graph": GraphLoop, "eager": EagerLoop}[loop](agent)
            agent.source.loop = agent.device_loop
        callbacks = build_callbacks(
            config, run, reward_threshold=None, first_timestep=0, console=None
        )
        started = time.perf_counter()
        build_trainer(device=config.device, callbacks=[*callbacks, moments]).fit(agent)
        agent.close()
    return speed_from_moments(
        f"ours, {agent.device_loop.name}",
        [started, *moments.seconds],
        n_envs=config.n_envs,
        n_iterations=config.rollouts_per_epoch,
        mean_length=agent.last_row.get("train/roll/ep_len_mean"),
    )


if __name__ == "__main__":
    exit_on_user_error(main)
