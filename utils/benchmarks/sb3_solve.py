"""A process of its own: train SB3's PPO until its greedy policy solves CartPole.

Run by the benchmark as `python -m utils.benchmarks.sb3_solve SEED MAX_TIMESTEPS N_EPISODES`. It
prints one JSON object: timesteps and the last greedy mean return.
"""

from __future__ import annotations

import json
import sys

import torch
from stable_baselines3.common.callbacks import BaseCallback

from utils.benchmarks.judge import build_fast_cartpole, greedy_mean
from utils.benchmarks.sb3_zoo import build_zoo_ppo

EVAL_PERIOD = 4096
THRESHOLD = 475.0


class _StopWhenSolved(BaseCallback):
    """Judge the policy on fresh episodes every 4,096 steps; stop at the threshold."""

    def __init__(self, *, n_episodes: int, seed: int) -> None:
        super().__init__()
        self.env = build_fast_cartpole(n_episodes)
        self.mean = 0.0
        self._seed = 1_000_000 * (seed + 1)
        self._next = EVAL_PERIOD

    def _on_step(self) -> bool:
        if self.num_timesteps < self._next:
            return True
        self._next += EVAL_PERIOD
        self.mean = greedy_mean(self.model, self.env, seed=self._seed + self.num_timesteps)
        return self.mean < THRESHOLD


def main(arguments: list[str]) -> None:
    """Train one seed and print what came of it."""
    seed, max_timesteps, n_episodes = (int(argument) for argument in arguments)
    torch.set_num_threads(1)  # as ours
    judge = _StopWhenSolved(n_episodes=n_episodes, seed=seed)
    model = build_zoo_ppo(seed=seed)
    model.learn(max_timesteps, callback=judge)
    print(json.dumps({"timesteps": model.num_timesteps, "mean": judge.mean}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
