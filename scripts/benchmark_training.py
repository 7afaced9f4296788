"""Speed of whole trainings: PPO on CartPole, ours beside Stable-Baselines3's, equal settings.

`python scripts/benchmark_training.py` compares timesteps a second, with `--wide` those of 4,096
environments, which the peer is given too;
`python scripts/benchmark_training.py --time-to-solve --seeds 5` whole processes until solved, a
plain script in the manner of CleanRL's among them. Every process begins with its interpreter and
ends with its result: the greedy mean return over 100 fresh episodes. The peers stop at the first
evaluation that reaches 475 and report it; ours is tested once more, on other episodes. Before the
first measurement one short training lets numba compile what is not in its cache yet.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, require_sb3
from utils.benchmarks.cli import count
from utils.config import load_config
from utils.errors import exit_on_user_error
from utils.storage import read_json

if TYPE_CHECKING:
    from utils.benchmarks.training_speed import Outcome

OURS, PEER = "ours", "SB3"
# Name -> module that trains one seed in a process of its own.
SOLVERS = {PEER: "utils.benchmarks.sb3_solve", "plain PPO": "utils.benchmarks.plain_ppo_solve"}
CONFIG_ID = "CartPole-v1:ppo"
# Many environments, few passes: rollouts and minibatches are large, calls few.
WIDE = {"n_envs": 4096, "n_steps": 32, "batch_size": 16_384, "n_epochs": 2}
WIDE_ITERATIONS = 4
THRESHOLD = 475.0
MAX_TIMESTEPS = {PEER: 100_000, "plain PPO": 500_000}


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_training.py", "Measure whole trainings of CartPole.")
    parser.add_option(
        "--timesteps", type=count, default=25_600, metavar="N", help="of a training (default 25600)"
    )
    parser.add_option(
        "--wide", action="store_true", help="4,096 environments, 2 passes of 8 minibatches"
    )
    parser.add_option(
        "--time-to-solve",
        action="store_true",
        help="time whole processes until the greedy mean return over 100 episodes is 475",
    )
    parser.add_option(
        "--seeds", type=count, default=5, metavar="N", help="seeds 1 to N with --time-to-solve"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Compare throughput, or time to solve."""
    options = read_options()
    require_sb3("benchmark_training.py")
    if options.time_to_solve:
        report = BenchmarkReport(
            "time_to_solve", torch_threads=1, settings={"seeds": options.seeds}
        )
        compare_time_to_solve(report, n_seeds=options.seeds)
    else:
        settings = {"timesteps": options.timesteps, "windows": options.windows}
        report = BenchmarkReport("training", torch_threads=options.threads, settings=settings)
        compare_throughput(report, options)
    report.write(options.json)


def compare_throughput(report: BenchmarkReport, options: argparse.Namespace) -> None:
    """Train both for the same number of timesteps, seed by seed."""
    import torch

    from utils.benchmarks.training_speed import time_trainings

    torch.set_num_threads(options.threads)
    # Notes on a run, such as that it is too short for a checkpoint, are none on a benchmark.
    logging.getLogger("gymnasium_solver").setLevel(logging.ERROR)
    shape = WIDE if options.wide else {}
    rollout = WIDE["n_envs"] * WIDE["n_steps"] if options.wide else 256
    timesteps = WIDE_ITERATIONS * rollout if options.wide else options.timesteps
    contestants = {OURS: prepare_ours, PEER: prepare_sb3}
    for prepare in contestants.values():  # imports and first calls are in no window
        prepare(0, timesteps=rollout, shape=shape)()
    scores = time_trainings(
        {name: partial(f, timesteps=timesteps, shape=shape) for name, f in contestants.items()},
        timesteps=timesteps,
        seeds=range(1, options.windows + 1),
    )
    title = f"PPO on CartPole-v1, settings of the RL Zoo, {timesteps:,} timesteps"
    if options.wide:
        title = f"PPO on CartPole-v1, 4,096 simd environments for both, {timesteps:,} timesteps"
    report.add_scores(title, scores, unit="steps/s", peer=PEER)


def prepare_ours(seed: int, *, timesteps: int, shape: Mapping[str, int]) -> Callable[[], None]:
    """Build a training through Lightning with all callbacks and files, unjudged as the peer's."""
    from agents import build_agent
    from trainer_callbacks.build import build_callbacks
    from utils.run import Run
    from utils.trainer_factory import build_trainer

    unjudged = ["eval_freq_epochs=null", "early_stop_on_eval_reward=false", "video=none"]
    shaped = [f"{key}={value}" for key, value in shape.items()]
    config = load_config(
        CONFIG_ID, [*unjudged, *shaped, f"seed={seed}", f"max_timesteps={timesteps}"]
    )
    folder = tempfile.TemporaryDirectory()
    run = Run.create(folder.name, config_id=config.config_id, config_dict=config.to_dict())
    agent = build_agent(config, run=run)
    callbacks = build_callbacks(
        config, run, reward_threshold=THRESHOLD, first_timestep=0, console=None
    )

    def train() -> None:
        build_trainer(device="cpu", callbacks=callbacks).fit(agent)
        assert agent.counters.timesteps == timesteps, agent.counters
        agent.close()
        folder.cleanup()

    return train


def prepare_sb3(seed: int, *, timesteps: int, shape: Mapping[str, int]) -> Callable[[], None]:
    """Build the peer's training."""
    from utils.benchmarks.sb3_zoo import build_zoo_ppo

    model = build_zoo_ppo(seed=seed, **shape)

    def train() -> None:
        model.learn(timesteps)
        assert model.num_timesteps == timesteps, model.num_timesteps
        model.env.close()

    return train


def compare_time_to_solve(report: BenchmarkReport, *, n_seeds: int) -> None:
    """Run whole processes, ours and the peer's, in turns."""
    from utils.benchmarks import training_speed as speed

    with tempfile.TemporaryDirectory() as folder:
        speed.run_untimed([*our_command(f"{folder}/first", 0), "--max-timesteps", "8192"])
        solvers = [
            speed.Solver(OURS, partial(our_command, folder), partial(our_result, folder)),
            *(speed.Solver(name, partial(peer_command, name), peer_result) for name in SOLVERS),
        ]
        outcomes = speed.time_solvers(solvers, seeds=range(1, n_seeds + 1), tell=tell)
    report.add_table(
        "Whole processes, imports included, until the greedy mean return over 100 episodes is 475",
        speed.OUTCOME_HEADER,
        [speed.outcome_row(outcome) for outcome in outcomes],
        records=[dataclasses.asdict(outcome) for outcome in outcomes],
    )
    summaries = [speed.summarize(outcomes, name, threshold=THRESHOLD) for name in (OURS, *SOLVERS)]
    report.add_table(
        f"PPO on CartPole-v1, {n_seeds} seeds",
        speed.SUMMARY_HEADER,
        [speed.summary_row(summary) for summary in summaries],
        records=[dataclasses.asdict(summary) for summary in summaries],
    )


def tell(outcome: Outcome) -> None:
    """Show that it goes on, where somebody waits."""
    print(f"{outcome.name}, seed {outcome.seed}: {outcome.seconds:.1f} s", file=sys.stderr)


def our_command(folder: str, seed: int) -> list[str]:
    """Return the command that a person types."""
    where = ["--seed", str(seed), "--runs-dir", f"{folder}/{seed}"]
    return [sys.executable, "train.py", CONFIG_ID, "-q", *where]


def our_result(folder: str, seed: int, _: str) -> tuple[int, float]:
    """Return timesteps and the best policy's mean return from the run's own result."""
    (path,) = Path(folder, str(seed)).glob("*/results.json")
    results = read_json(path)
    return results["timesteps"], results["test"]["best"]["mean"]


def peer_command(name: str, seed: int) -> list[str]:
    """Return the command of a peer."""
    return [sys.executable, "-m", SOLVERS[name], str(seed), str(MAX_TIMESTEPS[name]), "100"]


def peer_result(_: int, output: str) -> tuple[int, float]:
    """Return timesteps and mean return from the last line that a peer printed."""
    result = json.loads(output.splitlines()[-1])
    return result["timesteps"], result["mean"]


if __name__ == "__main__":
    exit_on_user_error(main)
