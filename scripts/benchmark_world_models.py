"""Updates of a Dreamer, or of TD-MPC2 with its plans: milliseconds, and when the first is done.

`python scripts/benchmark_world_models.py --sizes 1M,12M,200M --kinds proprio,vision --device cuda`
`python scripts/benchmark_world_models.py --algorithm tdmpc --sizes 5M --device cuda --envs 1,16`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser
from utils.benchmarks.cli import count, counts, names
from utils.errors import exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_world_models.py", "Measure updates of world models.")
    parser.add_option(
        "--algorithm", choices=("dreamer", "tdmpc"), default="dreamer", help="dreamer or tdmpc"
    )
    parser.add_option(
        "--envs", type=counts, default=[1], metavar="N,...", help="that tdmpc plans for (1)"
    )
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
    parser.add_option("--batch-size", type=count, metavar="B", help="sequences (16; tdmpc 256)")
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
    if options.algorithm == "tdmpc":
        time_latent_planning(options)
    else:
        time_dreamers(options)


def time_dreamers(options: argparse.Namespace) -> None:
    """Time updates of a Dreamer."""
    import torch

    from agents import build_agent
    from utils.benchmarks.contest import median
    from utils.benchmarks.world_model_speed import Timing, UpdateTask, time_updates
    from utils.config import config_from_dict

    torch.set_num_threads(options.threads)
    settings = {
        "batch_size": options.batch_size or 16,
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
                batch_size=options.batch_size or 16,
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


def time_latent_planning(options: argparse.Namespace) -> None:
    """Time updates and plans of TD-MPC2, on numbers."""
    import torch

    from agents import build_agent
    from utils.benchmarks.contest import median
    from utils.benchmarks.latent_planning_speed import LatentPlanningTask, time_plans
    from utils.benchmarks.world_model_speed import time_updates
    from utils.config import config_from_dict

    torch.set_num_threads(options.threads)
    is_captured = options.device == "cuda" and not options.eager
    settings = {
        "batch_size": options.batch_size or 256,
        "device": options.device,
        "precision": options.precision,
    }
    report = BenchmarkReport(
        "latent_planning",
        torch_threads=options.threads,
        settings={**settings, "is_captured": is_captured},
    )
    rows, records = [], []

    def build(values: dict[str, object]) -> object:
        return build_agent(config_from_dict(values))

    for size in options.sizes:
        task = LatentPlanningTask(size=size, **settings)
        windows = {"n_windows": options.windows, "is_captured": is_captured}
        updates = time_updates(task, build, n_updates=options.updates, **windows)
        middle = median(updates.milliseconds)
        first = (f"{updates.n_parameters:,}", f"{middle:.1f}", f"{updates.first_seconds:.1f}")
        for n_envs in options.envs:
            task = LatentPlanningTask(size=size, n_envs=n_envs, **settings)
            plans = time_plans(task, build, n_plans=options.updates, **windows)
            rows.append((size, *first, f"{n_envs}", f"{median(plans):.2f}", f"{max(plans):.2f}"))
            records.append({"size": size, "n_envs": n_envs, "plans": plans, **updates._asdict()})
    header = ("", "parameters", "ms/update", "first after s", "envs", "ms/plan", "highest")
    report.add_table("updates and plans of TD-MPC2", header, rows, records=records)
    report.write(options.json)


if __name__ == "__main__":
    exit_on_user_error(main)
