"""Folders of finished runs, without a training."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utils.run import Run
from utils.run.labels import Labels, write_labels
from utils.storage import write_json


def finished_run(
    runs_dir: Path,
    *,
    env: str = "CartPole-v1",
    variant: str = "ppo",
    algo: str = "ppo",
    seed: int = 0,
    test: float | None = 100.0,
    curve: Sequence[float] = (10.0, 50.0, 90.0),
    labels: Labels | None = None,
    solved: float | None = 475.0,
    **settings: Any,
) -> Run:
    """Make a run that is completed, with an evaluation every 100 timesteps.

    Args:
        runs_dir: Folder of the runs.
        env: Environment id.
        variant: Of the config.
        algo: Its algorithm.
        seed: Of the run.
        test: Mean test return of best and last policy; None for no test.
        curve: Mean return of each evaluation.
        labels: Group, tags and note.
        solved: The threshold in the config.
        settings: Of the config besides.
    """
    config_id = f"{env}:{variant}"
    config = {
        "schema_version": 2,
        "config_id": config_id,
        "algo_id": algo,
        "env_id": env,
        "seed": seed,
        "max_timesteps": 100 * len(curve),
        "spec": {"solved_threshold": solved, "returns": {"range": [0.0, 500.0]}},
        **settings,
    }
    run = Run.create(runs_dir, config_id=config_id, config_dict=config)
    if labels is not None:
        write_labels(run.path, labels)
    rows = [
        {
            "epoch": i,
            "timesteps": 100 * i,
            "val/roll/ep_rew_mean": value,
            "train/time/elapsed_seconds": 2.0 * i,
        }
        for i, value in enumerate(curve, start=1)
    ]
    run.metrics_jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if test is not None:
        result = {"mean": test, "std": 1.0, "returns": [test]}
        write_json(run.results_path, {"seed": seed, "test": {"best": result, "last": result}})
    (run.checkpoints_dir / "epoch=01.ckpt").write_bytes(b"weights" * 1000)
    run.write_status("completed", reason="max_timesteps reached")
    return run


def seeds(runs_dir: Path, values: Sequence[float], **options: Any) -> list[Run]:
    """Make a run for each value, with seeds from 0 on; see `finished_run`."""
    return [
        finished_run(
            runs_dir, seed=seed, test=value, curve=(value / 4, value / 2, value), **options
        )
        for seed, value in enumerate(values)
    ]


def process_ended(run: Run) -> None:
    """Let the status of a run be one of a process that is gone while it trained."""
    write_json(
        run.status_path,
        {
            "status": "running",
            "pid": 2**22 - 1,
            "pid_started_ticks": 1,
            "host": platform.node(),
            "updated_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        },
    )
