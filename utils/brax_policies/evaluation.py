"""Judges and films a policy that Brax has trained, in its environment as Gymnasium has it."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from utils.config import BraxConfig, load_config_json
from utils.environment import build_env_from_config
from utils.errors import ConfigError
from utils.playback.film import film_episode
from utils.rollouts import EvaluationResult, evaluate_policy
from utils.run import Run
from utils.seeding import derive_seed
from utils.storage import write_json

_CPU = torch.device("cpu")
_TIMEOUT_SECONDS = 3600.0


def open_run(reference: str, runs_dir: Path) -> tuple[Run, BraxConfig]:
    """Find a run of Brax.

    Raises:
        UserError: There is none of that name, or it is a run of another algorithm.
    """
    run = Run.open(reference, runs_dir=runs_dir)
    config = load_config_json(run.config_path)
    if not isinstance(config, BraxConfig):
        raise ConfigError(
            f"run '{run.id}' is of {config.algo_id}, not of Brax: run_play.py judges any run"
        )
    return run, config


def judge_run(
    run: Run, config: BraxConfig, load_policy: Callable[..., Any], args: argparse.Namespace
) -> EvaluationResult:
    """Play fresh episodes and store what came of them in the run's `results.json`.

    Args:
        run: The run.
        config: Of it.
        load_policy: Gets a policy out of a run.
        args: See `utils.brax_policies.cli.parse_eval_args`.
    """
    env = build_env_from_config(config, n_envs=1, vectorization="sync")
    try:
        loaded = load_policy(config, run.checkpoint(), env=env)
        result = evaluate_policy(
            loaded.policy,
            env,
            n_episodes=args.episodes,
            seed=_seed(config, args),
            deterministic=not args.sampled,
            device=_CPU,
            timeout_seconds=_TIMEOUT_SECONDS,
            max_episode_steps=config.eval_max_episode_steps,
        )
    finally:
        env.close()
    test = dataclasses.asdict(result) | {"mean": result.mean, "std": result.std}
    write_json(
        run.results_path,
        {
            "config_id": config.config_id,
            "seed": config.seed,
            "stop_reason": "trained with Brax",
            "timesteps": loaded.counters.timesteps,
            "training_seconds": run.read_status().get("training_seconds", 0.0),
            "process_seconds": result.seconds,
            "test": {"best": test, "last": test},
        },
    )
    return result


def film_run(
    run: Run, config: BraxConfig, load_policy: Callable[..., Any], args: argparse.Namespace
) -> Path:
    """Film the first episode and return the file; arguments as of `judge_run`."""
    env = build_env_from_config(config, n_envs=1, vectorization="sync")
    try:
        policy = load_policy(config, run.checkpoint(), env=env).policy
    finally:
        env.close()
    path = Path(args.video) if args.video else run.videos_dir / "brax-episode.mp4"
    path.parent.mkdir(parents=True, exist_ok=True)
    film_episode(
        config,
        policy,
        path,
        seed=_seed(config, args),
        deterministic=not args.sampled,
        max_steps=args.video_steps,
    )
    return path


def _seed(config: BraxConfig, args: argparse.Namespace) -> int:
    return derive_seed(config.seed, "test", 0) if args.seed is None else args.seed
