"""Updates of a Dreamer: milliseconds each, and how long the first one takes.

`python scripts/benchmark_world_models.py --sizes 1M,12M,200M --kinds proprio,vision --device cuda`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser
from utils.benchmarks.cli import count, names
from utils.errors import exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_world_models.py", "Measure updates of a Dreamer.")
    parser.add_option(
        "--sizes", type=names, default=["tiny", "1M"], metavar="SIZE,...", help="(tiny,1M)"
    )
    parser.add_option(
        "--kinds", type=names, default=["proprio"], metavar="KIND,...", help="proprio, vision"
    )
    parser.add_option("--device", default="cpu", metavar="DEVICE", help="cpu or cuda")
    parser.add_option(
        "--precision", default="auto", metavar="KIND", help="auto, float32 or bfloat16"
    )
    parser.add_option("--batch-size", type=count, default=16, metavar="B", help="sequences (16)")
    parser.add_option("--length", type=count, default=64, metavar="T", help="steps of each (64)")
    parser.add_option("--horizon", type=count, default=15, metavar="H", help="of dreams (15)")
    parser.add_option(
        "--updates", type=count, default=5, metavar="N", help="of a measurement (default 5)"
    )
    parser.add_option(
        "--eager", action="store_true", help="launch every operation by itself on a GPU too"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Time every size of every kind."""
    options = read_options()
    import torch

    from agents import build_agent
    from utils.benchmarks.contest import median
    from utils.benchmarks.world_model_speed import Timing, UpdateTask, time_updates
    from utils.config import config_from_dict

    torch.set_num_threads(options.threads)
    settings = {
        "batch_size": options.batch_size,
        "sequence_length": options.length,
        "imagination_horizon": options.horizon,
        "device": options.device,
        "precision": options.precision,
        "is_captured": options.device == "cuda" and not options.eager,
    }
    report = BenchmarkReport("world_models", torch_threads=options.threads, settings=settings)
    rows, records = [], []
    for kind in options.kinds:
        for size in options.sizes:
            task = UpdateTask(
                kind=kind,
                size=size,
                batch_size=options.batch_size,
                sequence_length=options.length,
                horizon=options.horizon,
                device=options.device,
                precision=options.precision,
            )
            timing: Timing = time_updates(
                task,
                lambda values: build_agent(config_from_dict(values)),
                n_windows=options.windows,
                n_updates=options.updates,
                is_captured=not options.eager,
            )
            middle = median(timing.milliseconds)
            rows.append(
                (
                    f"{kind} {size}",
                    f"{timing.n_parameters:,}",
                    f"{middle:.1f}",
                    f"{min(timing.milliseconds):.1f}",
                    f"{max(timing.milliseconds):.1f}",
                    f"{timing.first_seconds:.1f}",
                    f"{timing.peak_gib:.1f}",
                )
            )
            records.append({"kind": kind, "size": size, **timing._asdict(), "median": middle})
    header = ("", "parameters", "ms/update", "lowest", "highest", "first after s", "GiB")
    report.add_table("updates of a Dreamer", header, rows, records=records)
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
