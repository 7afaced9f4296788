"""What the loader and Lightning's loop cost, beside torch's usual loader and a bare loop.

`python scripts/benchmark_dataloaders.py --config CartPole-v1:ppo --epochs 100`
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, hold_contest, median
from utils.benchmarks.cli import count, seconds
from utils.config import Config, load_config
from utils.errors import exit_on_user_error

if TYPE_CHECKING:
    from utils.benchmarks.lightning_share import Duration


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser(
        "benchmark_dataloaders.py", "Measure the loader and Lightning's loop."
    )
    parser.add_option(
        "--config", default="CartPole-v1:ppo", metavar="ENV:VARIANT", help="what is trained"
    )
    parser.add_option(
        "--epochs", type=count, default=100, metavar="N", help="of each training (default 100)"
    )
    parser.add_option(
        "--seconds", type=seconds, default=0.4, metavar="S", help="length of a window (default 0.4)"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Measure the loaders, then the same training with and without Lightning."""
    options = read_options()
    config = load_config(options.config)
    import torch

    torch.set_num_threads(options.threads)
    settings = {"config": options.config, "epochs": options.epochs, "windows": options.windows}
    report = BenchmarkReport("dataloaders", torch_threads=options.threads, settings=settings)
    compare_loaders(report, n_windows=options.windows, window_seconds=options.seconds)
    compare_loops(report, config, n_epochs=options.epochs, n_rounds=options.windows)
    report.write(options.json)


def compare_loaders(report: BenchmarkReport, *, n_windows: int, window_seconds: float) -> None:
    """Measure loaders over rollouts of usual sizes."""
    from utils.benchmarks.loader_speed import PEER, build_contestants, fill_buffer

    for n_samples, batch_size, n_passes in ((256, 256, 20), (2048, 64, 4)):
        buffer = fill_buffer(n_steps=n_samples // 8, n_envs=8)
        contestants = build_contestants(buffer, batch_size=batch_size, n_passes=n_passes)
        scores = hold_contest(contestants, n_windows=n_windows, seconds=window_seconds)
        title = f"Loaders: {n_samples} samples, minibatches of {batch_size}, {n_passes} passes"
        report.add_scores(title, scores, unit="samples/s", peer=PEER)


def compare_loops(report: BenchmarkReport, config: Config, *, n_epochs: int, n_rounds: int) -> None:
    """Train the same agent in a bare loop and through Lightning."""
    from agents import build_agent
    from utils.benchmarks.lightning_share import measure_lightning_share

    share = measure_lightning_share(
        lambda: build_agent(config), n_epochs=n_epochs, n_rounds=n_rounds
    )
    columns = {
        "bare loop": share.bare,
        "Lightning, its loop": share.loop,
        "Lightning, whole fit": share.fit,
    }
    rows = [_row(name, values, n_epochs) for name, values in columns.items()]
    report.add_table(
        f"{config.config_id}: the same {n_epochs} epochs of the same agent",
        ("", "seconds", "lowest", "highest", "CPU s", "CPU ms an epoch"),
        rows,
        records=[
            {"name": name, "rounds": [dataclasses.asdict(value) for value in values]}
            for name, values in columns.items()
        ],
    )
    wall, cpu = share.percent(share.fit)
    loop_wall, loop_cpu = share.percent(share.loop)
    report.add_fact(
        "lightning_percent",
        {"wall": wall, "cpu": cpu, "loop_wall": loop_wall, "loop_cpu": loop_cpu},
        f"Lightning's share of the training time: {wall:.1f} % of wall time, {cpu:.1f} % of CPU "
        f"time (without the start and end of fit {loop_wall:.1f} %, {loop_cpu:.1f} %)",
    )


def _row(name: str, values: Sequence[Duration], n_epochs: int) -> tuple[str, ...]:
    seconds = [value.seconds for value in values]
    cpu = median([value.cpu_seconds for value in values])
    return (
        name,
        f"{median(seconds):.3f}",
        f"{min(seconds):.3f}",
        f"{max(seconds):.3f}",
        f"{cpu:.3f}",
        f"{1e3 * cpu / n_epochs:.2f}",
    )


if __name__ == "__main__":
    exit_on_user_error(main)
