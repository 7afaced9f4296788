"""Makes a run folder of a model of Stable-Baselines3, so that every tool can open it."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from utils.checkpoints import point, save_checkpoint
from utils.config import SCHEMA_VERSION, Config, config_from_dict
from utils.config.catalog import CONFIG_DIR, environment_files
from utils.config.overrides import parse_override
from utils.environment import build_env_from_config, build_evaluation_env
from utils.errors import ConfigError, UserError
from utils.metrics import Counters
from utils.rollouts import EvaluationResult, evaluate_policy
from utils.run import Run
from utils.sb3_policies.archive import Archive, check_bounds, read_archive
from utils.sb3_policies.layout import read_layout
from utils.sb3_policies.policy import SB3Policy, build_sb3_policy
from utils.sb3_policies.vec_normalize import Moments, VecStatistics, read_vec_normalize
from utils.seeding import derive_seed
from utils.spaces import space_to_dict
from utils.storage import write_json

_OF_ENVIRONMENT = (
    "env_kwargs",
    "env_wrappers",
    "max_episode_steps",
    "grayscale_obs",
    "resize_obs",
    "frame_stack",
    "channel_order",
    "spec",
)
"""What is taken over from the `_base` block of the environment's config file."""
_CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A model that was imported."""

    run: Run
    config: Config
    archive: Archive
    result: EvaluationResult | None
    """None where no episodes were asked for."""
    notes: tuple[str, ...]
    """What a person should know, one line each."""


def import_model(
    path: Path,
    *,
    env_id: str,
    vec_normalize: Path | None,
    overrides: tuple[str, ...] = (),
    n_episodes: int = 0,
    runs_dir: Path,
) -> Imported:
    """Read a model, make sure that it fits an environment, judge it, and write a run folder.

    Args:
        path: Its `.zip`.
        env_id: What it was trained in; the file does not say.
        vec_normalize: Pickle of the `VecNormalize` around that environment; None without one.
        overrides: Settings of the environment, `key=value`.
        n_episodes: Fresh episodes that it is judged by; 0 for none.
        runs_dir: Folder of all runs.

    Raises:
        UserError: A file that cannot be read, or that would have to be run; another environment
            than that of the training. Nothing is left of the run folder.
    """
    archive = read_archive(path)
    layout = read_layout(archive)
    statistics = None if vec_normalize is None else read_vec_normalize(vec_normalize)
    kwargs = dict(layout.kwargs)
    if statistics is not None and statistics.moments:
        kwargs |= {
            "vec_normalize": True,
            "vec_epsilon": statistics.epsilon,
            "vec_clip": statistics.clip,
        }
    factor = 1.0 if statistics is None else statistics.reward_factor
    settings = _settings(archive, env_id, kwargs, overrides, reward_factor=factor)
    config, notes = _fit_frame_stack(archive, settings, overrides)
    env = build_env_from_config(config, n_envs=1, vectorization="sync")
    try:
        spaces = env.single_observation_space, env.single_action_space
    finally:
        env.close()
    archive.check_space("observation_space", spaces[0])
    archive.check_space("action_space", spaces[1])
    if isinstance(spaces[1], gym.spaces.Box):
        check_bounds(archive, spaces[1])
    policy = build_sb3_policy(*spaces, config.policy_kwargs)
    _load(policy, layout.weights, archive)
    if statistics is not None and statistics.moments:
        notes += _load_statistics(policy, statistics, vec_normalize)
    policy.eval()
    result = _judge(config, policy, n_episodes) if n_episodes else None
    run = _write(runs_dir, config, policy, spaces, archive, result)
    return Imported(run=run, config=config, archive=archive, result=result, notes=tuple(notes))


def _settings(
    archive: Archive,
    env_id: str,
    kwargs: dict[str, Any],
    overrides: tuple[str, ...],
    *,
    reward_factor: float,
) -> dict[str, Any]:
    """Return the settings of the run: those of the environment's config file, and those given."""
    base = _base_of(env_id)
    seed = archive.facts.get("seed")
    settings: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "config_id": f"{env_id}:sb3_{kwargs['algorithm'].lower()}",
        "algo_id": "sb3",
        "env_id": env_id,
        "description": f"Trained with Stable-Baselines3 {archive.version}",
        "seed": seed if isinstance(seed, int) and 0 <= seed < 2**31 else 0,
        "n_envs": 1,
        "max_timesteps": max(1, archive.timesteps),
        "policy_kwargs": kwargs,
        "trained_with": f"Stable-Baselines3 {archive.version}",
        "gamma": archive.number("gamma", default=0.99),
        "gae_lambda": archive.number("gae_lambda", default=1.0),
        "reward_scale": reward_factor,
        **{key: base[key] for key in _OF_ENVIRONMENT if key in base},
    }
    for text in overrides:
        override = parse_override(text)
        place = settings
        for key in override.path[:-1]:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise ConfigError(f"{override.label}: '{key}' holds no settings of its own")
        place[override.path[-1]] = override.value
    return settings


def _base_of(env_id: str) -> Mapping[str, Any]:
    """Return the `_base` block of the config file of an environment; nothing without one."""
    for file in environment_files(CONFIG_DIR):
        if file.base.get("env_id", file.name) == env_id:
            return file.base
    return {}


def _fit_frame_stack(
    archive: Archive, settings: dict[str, Any], overrides: tuple[str, ...]
) -> tuple[Config, list[str]]:
    """Return the config, with as many frames in an observation as the model reads."""
    source = f"'{archive.path}'"
    config = config_from_dict(settings, source=source)
    if any(text.startswith("frame_stack=") for text in overrides):
        return config, []
    env = build_env_from_config(config, n_envs=1, vectorization="sync")
    space = env.single_observation_space
    env.close()
    there = archive.facts.get("observation_space", {}).get("_shape")
    if not isinstance(space, gym.spaces.Box) or not isinstance(there, list) or not there:
        return config, []
    here = list(space.shape)
    n_frames, rest = divmod(there[0] * config.frame_stack, max(1, here[0]))
    if here == there or rest or there[1:] != here[1:] or n_frames < 1:
        return config, []
    config = config_from_dict({**settings, "frame_stack": n_frames}, source=source)
    note = f"frame_stack: {n_frames}, for the model reads observations of shape {tuple(there)}"
    return config, [note]


def _load(policy: SB3Policy, weights: Mapping[str, torch.Tensor], archive: Archive) -> None:
    own = {
        name: tensor
        for name, tensor in policy.state_dict().items()
        if not name.startswith("vec_normalizer.")
    }
    wrong = [
        name for name in sorted({*own, *weights}) if _shape(own, name) != _shape(weights, name)
    ]
    if wrong:
        first = wrong[0]
        raise UserError(
            f"'{archive.path}' holds other networks than its settings say: {first} has shape "
            f"{_shape(weights, first)} there and {_shape(own, first)} as it was rebuilt"
        )
    policy.load_state_dict(dict(weights), strict=False)


def _shape(tensors: Mapping[str, torch.Tensor], name: str) -> tuple[int, ...] | None:
    return tuple(tensors[name].shape) if name in tensors else None


def _load_statistics(policy: SB3Policy, statistics: VecStatistics, path: Path | None) -> list[str]:
    """Load what a `VecNormalize` knew; say which parts it leaves as they are."""
    normalizer = policy.vec_normalizer
    assert normalizer is not None
    unknown = sorted(set(statistics.moments) - set(normalizer.leaves))
    if unknown:
        raise UserError(
            f"'{path}' holds statistics of {unknown}, and the observation has "
            f"{sorted(normalizer.leaves)}"
        )
    state = {}
    for i, (key, space) in enumerate(normalizer.leaves.items()):
        if key in statistics.moments:
            mean, var = _fitted(statistics.moments[key], space.shape, path)
            state |= {f"mean_{i}": mean, f"var_{i}": var, f"is_used_{i}": torch.tensor(True)}
    normalizer.load_state_dict(state, strict=False)
    left = sorted(set(normalizer.leaves) - set(statistics.moments))
    return [f"not normalised: {', '.join(left)}"] if left else []


def _fitted(
    moments: Moments, shape: tuple[int, ...], path: Path | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and variance in the shape of an observation, stacked frames alike."""

    def fit(array: np.ndarray) -> torch.Tensor:
        if array.shape != shape and array.shape[1:] == shape[1:] and shape[0] % len(array) == 0:
            array = np.concatenate(
                [array] * (shape[0] // len(array))
            )  # VecFrameStack came after it
        if array.shape != shape:
            raise UserError(
                f"'{path}' holds statistics of shape {moments.mean.shape}, and the observation has "
                f"{shape}: it belongs to another environment"
            )
        return torch.from_numpy(np.ascontiguousarray(array))

    return fit(moments.mean), fit(moments.var)


def _judge(config: Config, policy: SB3Policy, n_episodes: int) -> EvaluationResult:
    config = config.model_copy(update={"eval_episodes": n_episodes})
    env = build_evaluation_env(config)
    try:
        return evaluate_policy(
            policy,
            env,
            n_episodes=n_episodes,
            seed=derive_seed(config.seed, "test", 0),
            deterministic=config.eval_deterministic,
            device=_CPU,
            timeout_seconds=config.eval_timeout_seconds * max(1.0, n_episodes / 10),
            max_episode_steps=config.eval_max_episode_steps,
        )
    finally:
        env.close()


def _write(
    runs_dir: Path,
    config: Config,
    policy: SB3Policy,
    spaces: tuple[gym.Space, gym.Space],
    archive: Archive,
    result: EvaluationResult | None,
) -> Run:
    run = Run.create(runs_dir, config_id=config.config_id, config_dict=config.to_dict())
    try:
        counters = Counters(timesteps=archive.timesteps)
        path = run.checkpoints_dir / "epoch=00.ckpt"
        state = {
            "format_version": 1,
            "algo_id": config.algo_id,
            "config_id": config.config_id,
            "device": "cpu",
            "spaces": dict(zip(("observation", "action"), map(space_to_dict, spaces), strict=True)),
            "policy": policy.state_dict(),
            "counters": counters.to_dict(),
        }
        save_checkpoint(path, state)
        write_json(path.with_suffix(".json"), {"epoch": 0, "counters": counters.to_dict()})
        for name in ("last", "best"):
            point(run.checkpoints_dir, name, path)
        if result is not None:
            write_json(run.results_path, _results(config, archive, result))
        run.write_environment_facts(device="cpu", torch_threads=torch.get_num_threads())
        run.write_status(
            "completed",
            reason=f"imported from Stable-Baselines3 {archive.version}",
            imported_at=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        )
    except BaseException:
        shutil.rmtree(run.path, ignore_errors=True)
        raise
    return run


def _results(config: Config, archive: Archive, result: EvaluationResult) -> dict[str, Any]:
    """Return what `results.json` of a run holds."""
    test = dataclasses.asdict(result) | {"mean": result.mean, "std": result.std}
    return {
        "config_id": config.config_id,
        "seed": config.seed,
        "stop_reason": "imported",
        "timesteps": archive.timesteps,
        "training_seconds": 0.0,
        "process_seconds": result.seconds,
        "test": {"best": test, "last": test},
    }
