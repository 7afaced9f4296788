"""Trains a policy with Brax's PPO and writes a run folder of it."""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from utils.brax_policies.policy import BraxPolicy, state_from_params
from utils.checkpoints import point, save_checkpoint
from utils.config import SCHEMA_VERSION, Config, config_from_dict
from utils.environment import build_env_from_config
from utils.errors import DivergedError, MissingDependencyError
from utils.loggers.csv import CsvWriter
from utils.metrics import Counters
from utils.run import Run
from utils.run.heartbeat import Heartbeat
from utils.run.lock import RunLock
from utils.spaces import space_to_dict
from utils.storage import write_json


@dataclass(frozen=True, slots=True)
class Trained:
    """A policy that Brax has trained."""

    run: Run
    config: Config
    seconds: float
    """In training, compilation included."""


def train_with_brax(args: argparse.Namespace, *, tell: Callable[[str], None]) -> Trained:
    """Train, and write the run folder.

    Args:
        args: See `utils.brax_policies.cli`.
        tell: Hears what is about to be trained, and of every evaluation.

    Raises:
        MissingDependencyError: Brax is not installed.
        DivergedError: A weight is no finite number. Nothing is left of the run folder.
    """
    ppo = _ppo()
    tell(f"{args.env}, {args.timesteps:,} timesteps; JAX compiles first, a minute or so")
    config = _config(args)
    env = build_env_from_config(config, n_envs=1, vectorization="sync")
    spaces = env.single_observation_space, env.single_action_space
    env.close()
    run = Run.create(args.runs_dir, config_id=config.config_id, config_dict=config.to_dict())
    run.write_status("running")
    try:
        with RunLock(run.path), Heartbeat(run.path):
            seconds = _fill(run, ppo, args, config, spaces, tell)
    except BaseException:
        shutil.rmtree(run.path, ignore_errors=True)
        raise
    return Trained(run, config, seconds)


def _fill(
    run: Run,
    ppo: Any,
    args: argparse.Namespace,
    config: Config,
    spaces: Any,
    tell: Callable[[str], None],
) -> float:
    """Let Brax train, and put what comes of it into a run; returns the seconds of training."""
    started = time.perf_counter()
    rows = _Rows(run, tell, started)
    params = _train(ppo, args, config, rows.write)
    rows.close()
    seconds = time.perf_counter() - started
    policy = BraxPolicy(
        *spaces,
        hidden_dims=config.policy_kwargs.hidden_dims,
        value_dims=config.policy_kwargs.value_dims,  # type: ignore[attr-defined]
    )
    policy.load_state_dict(state_from_params(params))
    _check(policy)
    _save(run, config, policy, spaces, rows.timesteps)
    run.write_status("completed", reason="Brax has trained all timesteps", training_seconds=seconds)
    return seconds


def _ppo() -> Any:
    try:
        from brax.training.agents.ppo import train
    except ModuleNotFoundError as error:
        package = (error.name or "brax").partition(".")[0]
        raise MissingDependencyError(
            package, extra="brax", needed_for="brax_train_policy.py"
        ) from error
    return train


def _config(args: argparse.Namespace) -> Config:
    versions = " and ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("brax", "jax")
    )
    return config_from_dict(
        {
            "schema_version": SCHEMA_VERSION,
            "config_id": f"{args.env}:brax_ppo",
            "algo_id": "brax",
            "env_id": args.env,
            "env_kwargs": {"backend": args.backend},
            "description": "Trained with Brax's PPO",
            "seed": args.seed,
            "n_envs": args.n_envs,
            "vectorization": "sync",
            "max_timesteps": args.timesteps,
            "policy_lr": args.learning_rate,
            "gamma": args.gamma,
            "reward_scale": args.reward_scale,
            "trained_with": versions,
            "eval_n_envs": 1,
        },
        source="brax_train_policy.py",
    )


def _train(
    ppo: Any, args: argparse.Namespace, config: Config, progress: Callable[..., None]
) -> Any:
    """Let Brax train; return moments, actor and critic."""
    from brax import envs
    from brax.training.agents.ppo import networks

    env = envs.get_environment(args.env.rpartition("/")[2], backend=args.backend)
    kwargs: Any = config.policy_kwargs

    def factory(*sizes: Any, **options: Any) -> Any:
        return networks.make_ppo_networks(
            *sizes,
            **options,
            policy_hidden_layer_sizes=kwargs.hidden_dims,
            value_hidden_layer_sizes=kwargs.value_dims,
        )

    _, params, _ = ppo.train(
        environment=env,
        num_timesteps=args.timesteps,
        episode_length=args.episode_steps,
        num_envs=args.n_envs,
        unroll_length=args.unroll,
        batch_size=args.n_envs,
        num_minibatches=args.minibatches,
        num_updates_per_batch=args.passes,
        learning_rate=args.learning_rate,
        discounting=args.gamma,
        gae_lambda=config.gae_lambda,  # type: ignore[attr-defined]
        entropy_cost=args.entropy,
        reward_scaling=args.reward_scale,
        normalize_observations=True,
        network_factory=factory,
        seed=args.seed,
        num_evals=args.evaluations,
        num_eval_envs=args.eval_envs,
        deterministic_eval=True,
        progress_fn=progress,
    )
    return params


class _Rows:
    """Rows of metrics as Brax tells them, in the files of the run."""

    def __init__(self, run: Run, tell: Callable[[str], None], started: float) -> None:
        self._writer, self._tell, self._started = CsvWriter(run.metrics_csv), tell, started
        self._epoch, self.timesteps = 0, 0

    def write(self, timesteps: int, metrics: Mapping[str, Any]) -> None:
        """Take an evaluation of Brax's."""
        self.timesteps = int(timesteps)
        mean = float(metrics["eval/episode_reward"])
        row = {
            "val/roll/ep_rew_mean": mean,
            "val/roll/ep_len_mean": float(metrics["eval/avg_episode_length"]),
        }
        self._writer.write(
            {name: value for name, value in row.items() if math.isfinite(value)},
            epoch=self._epoch,
            timesteps=self.timesteps,
        )
        self._epoch += 1
        seconds = time.perf_counter() - self._started
        self._tell(f"{self.timesteps:>12,} timesteps {seconds:8.0f} s   mean return {mean:10.2f}")

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def _check(policy: BraxPolicy) -> None:
    for name, tensor in policy.state_dict().items():
        if not bool(tensor.isfinite().all()):
            raise DivergedError(
                f"{name} is no longer finite: the training has diverged; a smaller "
                "--learning-rate may help"
            )


def _save(run: Run, config: Config, policy: BraxPolicy, spaces: Any, timesteps: int) -> None:
    counters = Counters(timesteps=timesteps)
    path = run.checkpoints_dir / "epoch=00.ckpt"
    save_checkpoint(
        path,
        {
            "format_version": 1,
            "algo_id": config.algo_id,
            "config_id": config.config_id,
            "device": "cpu",
            "spaces": dict(zip(("observation", "action"), map(space_to_dict, spaces), strict=True)),
            "policy": policy.state_dict(),
            "counters": counters.to_dict(),
        },
    )
    write_json(path.with_suffix(".json"), {"epoch": 0, "counters": counters.to_dict()})
    for name in ("last", "best"):
        point(run.checkpoints_dir, name, path)
    run.write_environment_facts(device="cpu", torch_threads=1)
