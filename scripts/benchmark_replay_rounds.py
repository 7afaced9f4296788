"""Rounds of training from replay: milliseconds of updates, of vector steps, of environments.

`python scripts/benchmark_replay_rounds.py --configs ALE/Pong-v5:rainbow_gpu,HalfCheetah-v5:sac_gpu
--device cuda --profile 25`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, median
from utils.benchmarks.cli import count, names
from utils.errors import ConfigError, exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser(
        "benchmark_replay_rounds.py", "Measure the rounds of training from replay."
    )
    parser.add_option(
        "--configs", type=names, default=["CartPole-v1:dqn"], metavar="ID,...", help="env:variant"
    )
    parser.add_option("--device", default="cpu", choices=("cpu", "cuda"), help="cpu or cuda")
    parser.add_option(
        "--rounds", type=count, default=100, metavar="N", help="of a measurement (default 100)"
    )
    parser.add_option(
        "--stored", type=count, default=20_000, metavar="N", help="transitions before (20,000)"
    )
    parser.add_option(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="settings that differ"
    )
    parser.add_option("--eager", action="store_true", help="launch every operation by itself")
    parser.add_option(
        "--profile", type=count, metavar="N", help="show the N slowest kernels of a GPU's update"
    )
    options = parser.parse_or_refuse()
    if options.profile and options.device != "cuda":
        raise ConfigError("--profile shows the kernels of a GPU: add --device cuda")
    return options


def main() -> None:
    """Time every config, and show the kernels if asked to."""
    options = read_options()
    import torch

    from agents import build_agent
    from utils.benchmarks.replay_rounds import profile_updates, time_rounds
    from utils.config import load_config

    torch.set_num_threads(options.threads)
    report = BenchmarkReport(
        "replay_rounds",
        torch_threads=options.threads,
        settings={"device": options.device, "set": options.set, "is_eager": options.eager},
    )
    rows, records, profiles = [], [], {}
    for config_id in options.configs:
        agent = build_agent(load_config(config_id, [f"device={options.device}", *options.set]))
        if options.eager:
            agent.__dict__["captured"] = None
        timing = time_rounds(
            agent, n_windows=options.windows, n_rounds=options.rounds, n_stored=options.stored
        )
        milliseconds = (timing.update, timing.launch, timing.collect, timing.environment)
        rows.append(
            (
                config_id,
                *(f"{median(values):.3f}" for values in milliseconds),
                f"{median(timing.steps_per_second):,.0f}",
                f"{timing.first_seconds:.1f}",
                f"{timing.peak_gib:.1f}",
            )
        )
        records.append({"config_id": config_id, **timing._asdict()})
        if options.profile:
            profiles[config_id] = profile_updates(agent)
        agent.close()
    header = (
        "", "ms/update", "launched", "ms/vector step", "of it envs", "steps/s", "first s", "GiB",
    )  # fmt: skip
    report.add_table("rounds of training from replay", header, rows, records=records)
    for config_id, kernels in profiles.items():
        show_kernels(report, config_id, kernels, n=options.profile)
    report.write(options.json)


def show_kernels(
    report: BenchmarkReport, config_id: str, kernels: list[tuple[str, float, float]], *, n: int
) -> None:
    """Add a table of the slowest kernels."""
    calls, whole = (sum(row[i] for row in kernels) for i in (1, 2))
    rows = [(name[:70], f"{k:.1f}", f"{us:.1f}") for name, k, us in kernels[:n]]
    rows.append(("all", f"{calls:.1f}", f"{whole:.1f}"))
    records = [{"kernel": name, "calls": k, "us": us} for name, k, us in kernels]
    title = f"kernels of an update of {config_id}"
    report.add_table(title, ("", "calls", "us"), rows, records=records)


if __name__ == "__main__":
    exit_on_user_error(main)
