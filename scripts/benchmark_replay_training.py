"""Speed of whole trainings from a replay buffer, ours beside Stable-Baselines3's, equal settings.

`python scripts/benchmark_replay_training.py`; `--task "dqn LunarLander-v3"` for one of them. Ours
goes through Lightning with all callbacks and files; neither side is judged while it trains.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, require_sb3
from utils.benchmarks.cli import count, names
from utils.benchmarks.replay_training import TASKS, ReplayTask, Train, prepare_sb3
from utils.errors import ConfigError, exit_on_user_error

OURS, PEER = "ours", "SB3"


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser(
        "benchmark_replay_training.py", "Measure whole trainings from a replay buffer."
    )
    known = ", ".join(TASKS)
    parser.add_option(
        "--task", type=names, default=list(TASKS), metavar="NAME,...", help=f"of {known} (all)"
    )
    parser.add_option(
        "--timesteps", type=count, metavar="N", help="of a training (each task has its own)"
    )
    parser.add_option(
        "--device", default="cpu", choices=("cpu", "cuda"), help="of both sides (default cpu)"
    )
    parser.add_option(
        "--our-device", choices=("cpu", "cuda"), help="of ours, where it is not that of the peer"
    )
    options = parser.parse_or_refuse()
    for name in options.task:
        if name not in TASKS:
            raise ConfigError(f"--task: there is no '{name}' (there are: {known})")
    return options


def main() -> None:
    """Train both for the same number of timesteps, seed by seed, task by task."""
    options = read_options()
    require_sb3("benchmark_replay_training.py")
    import torch

    torch.set_num_threads(options.threads)
    # Notes on a run, such as that it is too short for a checkpoint, are none on a benchmark.
    logging.getLogger("gymnasium_solver").setLevel(logging.ERROR)
    settings = {
        "timesteps": options.timesteps,
        "windows": options.windows,
        "device": options.device,
        "our_device": options.our_device or options.device,
    }
    report = BenchmarkReport("replay_training", torch_threads=options.threads, settings=settings)
    for name in options.task:
        compare(report, name, TASKS[name], options)
    report.write(options.json)


def compare(
    report: BenchmarkReport, name: str, task: ReplayTask, options: argparse.Namespace
) -> None:
    """Measure one task."""
    from utils.benchmarks.training_speed import time_trainings

    timesteps = options.timesteps or task.timesteps
    our_device = options.our_device or options.device
    contestants = {
        OURS: partial(prepare_ours, task, device=our_device),
        PEER: partial(prepare_sb3, task, device=options.device),
    }
    for prepare in contestants.values():  # imports and first calls are in no window
        prepare(0, timesteps=2000)()
    scores = time_trainings(
        {key: partial(prepare, timesteps=timesteps) for key, prepare in contestants.items()},
        timesteps=timesteps,
        seeds=range(1, options.windows + 1),
    )
    where = our_device if our_device == options.device else f"{our_device} beside {options.device}"
    title = f"{name}, settings of the RL Zoo, {timesteps:,} timesteps, {where}"
    report.add_scores(title, scores, unit="steps/s", peer=PEER)


def prepare_ours(task: ReplayTask, seed: int, *, timesteps: int, device: str) -> Train:
    """Build a training through Lightning with all callbacks and files, unjudged as the peer's."""
    from agents import build_agent
    from trainer_callbacks.build import build_callbacks
    from utils.config import load_config
    from utils.run import Run
    from utils.trainer_factory import build_trainer

    unjudged = (
        "eval_freq_epochs=null",
        "eval_freq_timesteps=null",
        "early_stop_on_eval_reward=false",
        "video=none",
        "save_replay=false",
    )
    own = (f"seed={seed}", f"max_timesteps={timesteps}", f"device={device}")
    config = load_config(task.config_id, [*unjudged, *task.overrides, *own])
    folder = tempfile.TemporaryDirectory()
    run = Run.create(folder.name, config_id=config.config_id, config_dict=config.to_dict())
    agent = build_agent(config, run=run)
    agent.warm_up()
    callbacks = build_callbacks(config, run, reward_threshold=None, first_timestep=0, console=None)

    def train() -> None:
        build_trainer(device=device, callbacks=callbacks).fit(agent)
        assert agent.counters.timesteps == timesteps, agent.counters
        agent.close()
        folder.cleanup()

    return train


if __name__ == "__main__":
    exit_on_user_error(main)
