"""Runs of a small, untrained Dreamer to look into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from tests.helpers.played_runs import make_run
from tests.test_run_play import state_of
from utils.config import Config, config_from_dict
from utils.run import Run

TINY = {
    "size": "tiny",
    "deter": 16,
    "hidden": 8,
    "units": 8,
    "choices": 3,
    "classes": 4,
    "depth": 2,
    "blocks": 4,
    "numbers": "normal",
}


def dreamer_config(**changes: Any) -> Config:
    """Build a small Dreamer config; by default of an environment that counts its 8 steps."""
    settings = {
        "schema_version": 2,
        "config_id": "Counting-v0:dreamer",
        "algo_id": "dreamer",
        "env_id": "tests.helpers.envs:Counting-v0",
        "env_kwargs": {"length": 8},
        "n_envs": 2,
        "max_timesteps": 64,
        "batch_size": 2,
        "sequence_length": 4,
        "policy_kwargs": TINY,
        "spec": {"observation": {"labels": ["count"]}, "action": {"labels": ["left", "right"]}},
    }
    return config_from_dict(settings | changes)


def make_dreamer_run(runs_dir: Path, config: Config) -> Run:
    """Make a run whose only checkpoint, `epoch=00`, has a say in all that it predicts."""
    return make_run(runs_dir, config, states=[state_of(config, prepare=_shake)])


@torch.no_grad()
def _shake(policy: torch.nn.Module) -> None:
    """Change weights a little: heads that begin with zeros say nothing of a state."""
    generator = torch.Generator().manual_seed(1)
    for parameter in policy.parameters():
        parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))
