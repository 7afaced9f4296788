"""Run folders to play from, without training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utils.checkpoints import point, save_checkpoint
from utils.config import Config, config_from_dict
from utils.run import Run

DRAWING = "tests.helpers.envs:Drawing-v0"


def make_config(**changes: Any) -> Config:
    """Build a small PPO config; by default of an environment of 5 steps that draws 35 x 47."""
    settings = {
        "schema_version": 2,
        "config_id": "Drawing-v0:ppo",
        "algo_id": "ppo",
        "env_id": DRAWING,
        "n_envs": 2,
        "max_timesteps": 64,
        "policy_lr": 1e-3,
        "n_steps": 8,
        "batch_size": 8,
    }
    return config_from_dict(settings | changes)


def make_run(
    runs_dir: Path,
    config: Config,
    *,
    states: Sequence[dict[str, Any]] = ({},),
    best: int | None = 0,
) -> Run:
    """Make a run folder whose k-th checkpoint is `epoch=0k`; the last one is `last`.

    Args:
        runs_dir: The folder of all runs.
        config: Stored in it.
        states: What each checkpoint holds.
        best: Which checkpoint is `best`; None for no best one.
    """
    run = Run.create(runs_dir, config_id=config.config_id, config_dict=config.to_dict())
    for epoch, state in enumerate(states):
        path = run.checkpoints_dir / f"epoch={epoch:02}.ckpt"
        save_checkpoint(path, state)
        point(run.checkpoints_dir, "last", path)
        if epoch == best:
            point(run.checkpoints_dir, "best", path)
    return run
