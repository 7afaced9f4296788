"""Replay buffers: batches and steps per second and memory, beside Stable-Baselines3's.

`python scripts/benchmark_replay.py --capacity 1000000 --batch-size 256`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, hold_contest, require_sb3
from utils.benchmarks.cli import count, counts, seconds
from utils.errors import exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_replay.py", "Measure replay buffers.")
    parser.add_option(
        "--capacity", type=count, default=1_000_000, metavar="N", help="transitions (default 1e6)"
    )
    parser.add_option(
        "--pictures", type=count, default=20_000, metavar="N", help="of pictures (default 20,000)"
    )
    parser.add_option(
        "--batch-size", type=count, default=256, metavar="B", help="of vectors (default 256)"
    )
    parser.add_option(
        "--n-envs", type=counts, default=[8, 1024], metavar="N,...", help="that add (8,1024)"
    )
    parser.add_option(
        "--seconds", type=seconds, default=0.5, metavar="S", help="length of a window (default 0.5)"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Measure sampling, adding and memory."""
    options = read_options()
    require_sb3("the comparison")
    import torch

    torch.set_num_threads(options.threads)
    settings = {"capacity": options.capacity, "batch_size": options.batch_size}
    report = BenchmarkReport("replay", torch_threads=options.threads, settings=settings)
    compare_sampling(report, options)
    compare_adding(report, options)
    compare_memory(report, options.capacity)
    report.write(options.json)


def compare_sampling(report: BenchmarkReport, options: argparse.Namespace) -> None:
    """Measure batches of vectors, pictures and sequences."""
    from utils.benchmarks import replay_speed

    size, contest = options.batch_size, {"n_windows": options.windows, "seconds": options.seconds}
    with tempfile.TemporaryDirectory() as folder:
        vectors = replay_speed.build_samplers(
            capacity=options.capacity, batch_size=size, folder=Path(folder)
        )
        title = f"Batches of {size} from {options.capacity:,} transitions of HalfCheetah"
        scores = hold_contest(vectors, **contest)
        report.add_scores(title, scores, unit="batches/s", peer=replay_speed.PEER)
        del vectors
    pictures = replay_speed.build_picture_samplers(capacity=options.pictures, batch_size=32)
    title = f"Batches of 32 from {options.pictures:,} stacks of four pictures"
    scores = hold_contest(pictures, **contest)
    report.add_scores(title, scores, unit="batches/s", peer=replay_speed.PEER)
    del pictures
    sequences = replay_speed.build_sequence_samplers(
        capacity=options.capacity, batch_size=16, length=64
    )
    title = f"Batches of 16 sequences of 64 rows from {options.capacity:,}"
    scores = hold_contest(sequences, **contest)
    report.add_scores(title, scores, unit="batches/s", peer=replay_speed.PLAIN)


def compare_adding(report: BenchmarkReport, options: argparse.Namespace) -> None:
    """Measure vector steps."""
    from utils.benchmarks import replay_speed

    for n_envs in options.n_envs:
        writers = replay_speed.build_writers(capacity=options.capacity, n_envs=n_envs)
        scores = hold_contest(writers, n_windows=options.windows, seconds=options.seconds)
        title = f"Vector steps of {n_envs:,} environments added"
        report.add_scores(title, scores, unit="steps/s", peer=replay_speed.PEER)
        micros = {score.name: 1e6 / score.median for score in scores}
        text = ", ".join(f"{name} {value:.1f}" for name, value in micros.items())
        report.add_fact("microseconds", micros, f"microseconds a vector step: {text}")


def compare_memory(report: BenchmarkReport, capacity: int) -> None:
    """Measure what full buffers take."""
    from utils.benchmarks import replay_speed

    found = replay_speed.measure_memory(capacity)
    rows = [
        (
            name,
            "-" if use.declared is None else f"{use.declared / 2**20:,.1f}",
            f"{use.resident / 2**20:,.1f}",
            "-" if use.declared is None else f"{100 * (use.resident / use.declared - 1):+.1f} %",
        )
        for name, use in found.items()
    ]
    report.add_table(
        f"Memory of {capacity:,} transitions of HalfCheetah",
        ("", "declared MiB", "resident MiB", "beside declared"),
        rows,
        records=[{"name": name, **use._asdict()} for name, use in found.items()],
    )


if __name__ == "__main__":
    exit_on_user_error(main)
