"""Fused loops of one process among several, or of one alone.

`python -m tests.helpers.fused_together FILE [SEED]` writes what two iterations came to; every
process has environments of its own, unless SEED says which all of them shall have.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from agents.together import use_own_gpu
from tests.helpers.fused_loops import HYPERPARAMETERS, make_loop
from utils.distributed import read_ranks
from utils.distributed.team import Team

TINY = {"n_envs": 8, "n_steps": 4, "n_epochs": 2, "n_minibatches": 2, "hidden_dims": (32,)}


def main() -> None:
    """Run two iterations and write the file."""
    path, *seeds = sys.argv[1:]
    ranks = read_ranks()
    team = None if ranks is None else Team(ranks)
    if ranks is not None:
        use_own_gpu(ranks)
    index = int(seeds[0]) if seeds or team is None else team.rank
    loop = make_loop(**TINY, team=team, seed_index=index)
    report = loop.run(2, HYPERPARAMETERS)
    torch.save(
        {
            "parameters": [p.detach().cpu() for p in loop.policy.parameters()],
            "env": loop.iteration.env.state.cpu(),
            "n_timesteps": report.n_timesteps,
            "episodes": tuple(report.episodes),
            "metrics": report.metrics,
        },
        Path(path),
    )
    if team is not None:
        team.close()
