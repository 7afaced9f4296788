"""Speed of PPO on pictures: training steps a second, ours beside Stable-Baselines3's.

`python scripts/benchmark_atari_training.py --windows 3` trains on ALE/Pong-v5 with the Nature CNN,
on a GPU if there is one. The peer has its own preprocessing and the settings of the RL Zoo with 8
environments, once in this process and once in worker processes. What happens before the first
step, loading games and starting processes, is in no window.
"""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks import BenchmarkReport, benchmark_parser, require_sb3
from utils.benchmarks.cli import count
from utils.config import load_config
from utils.errors import exit_on_user_error

if TYPE_CHECKING:
    from utils.benchmarks.contest import Contestant

CONFIG_ID = "ALE/Pong-v5:ppo_gpu"
PEER = "SB3"


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = benchmark_parser("benchmark_atari_training.py", "Measure PPO on pictures of Pong.")
    parser.add_option(
        "--seconds", type=float, default=10.0, metavar="S", help="of a window (default 10)"
    )
    parser.add_option(
        "--n-envs", type=count, default=128, metavar="N", help="ours (default 128; SB3 has 8)"
    )
    return parser.parse_or_refuse()


def main() -> None:
    """Train all in turns."""
    options = read_options()
    require_sb3("benchmark_atari_training.py")
    import torch

    from utils.benchmarks.atari_training import build_peers
    from utils.benchmarks.contest import hold_contest

    torch.set_num_threads(options.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = {"device": device, "windows": options.windows, "n_envs": options.n_envs}
    report = BenchmarkReport("atari_training", torch_threads=options.threads, settings=settings)
    with ExitStack() as stack:
        contestants = [
            build_ours(device=device, n_envs=options.n_envs, stack=stack),
            *build_peers(PEER, device=device, stack=stack),
        ]
        scores = hold_contest(contestants, n_windows=options.windows, seconds=options.seconds)
    title = f"PPO on ALE/Pong-v5, 84 x 84 x 4, {device}, training steps of the agent"
    report.add_scores(title, scores, unit="steps/s", peer=PEER)
    report.write(options.json)


def build_ours(*, device: str, n_envs: int, stack: ExitStack) -> Contestant:
    """Train by the agent's own epochs: rollout, targets, update and metrics, without Lightning."""
    from agents import build_agent
    from agents.base_agent import hyperparameters_at
    from utils.benchmarks.contest import Contestant

    logging.getLogger("gymnasium_solver").setLevel(logging.ERROR)
    settings = [f"device={device}", f"n_envs={n_envs}", "batch_size=0.125"]
    config = load_config(CONFIG_ID, settings)
    agent = build_agent(config)
    stack.callback(agent.close)
    agent.source.reset(seed=0)

    def advance() -> int:
        before = agent.counters.timesteps
        agent.hyperparameters |= hyperparameters_at(config, timesteps=before)
        agent.collect_rollout()
        (batch,) = agent.source.loader
        agent.learn_from(batch.to(agent.compute_device))
        agent.recorder.flush()
        return agent.counters.timesteps - before

    return Contestant("ours", advance, has_processes=True)


if __name__ == "__main__":
    exit_on_user_error(main)
