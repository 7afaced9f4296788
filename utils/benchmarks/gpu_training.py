"""What whole trainings on a GPU are measured by, and the peer among them."""

from __future__ import annotations

import importlib.util
import itertools
import math
import time
from dataclasses import dataclass

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from typing_extensions import override

from utils.benchmarks.contest import median
from utils.config import Config, config_from_dict

N_STEPS, N_PASSES, N_MINIBATCHES = 32, 4, 4


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """How one training went, part by part of equal length."""

    name: str
    n_envs: int
    start_seconds: float
    """From the call to the end of the first part, less the median of the others: compilation,
    capture, first calls."""
    rates: tuple[float, ...]
    """Timesteps a second of each part but the first."""
    mean_length: float | None
    """Of the last episodes that ended, as a sign that it learns; None where none did."""

    @property
    def median(self) -> float:
        """The rate that counts."""
        return median(self.rates)


def speed_from_moments(
    name: str, moments: list[float], *, n_envs: int, n_iterations: int, mean_length: float | None
) -> TrainingSpeed:
    """Turn the moments at which parts ended into rates.

    Args:
        name: Who trained.
        moments: Seconds: the call, then the end of each part, at least three.
        n_envs: Number of environments.
        n_iterations: Iterations of each part.
        mean_length: See `TrainingSpeed`.
    """
    parts = [end - begin for begin, end in itertools.pairwise(moments)]
    steps = n_iterations * N_STEPS * n_envs
    return TrainingSpeed(
        name=name,
        n_envs=n_envs,
        start_seconds=parts[0] - median(parts[1:]),
        rates=tuple(steps / part for part in parts[1:]),
        mean_length=mean_length,
    )


def benchmark_config(
    *, n_envs: int, n_parts: int, n_iterations: int, seed: int, device: str
) -> Config:
    """Return the settings that all contestants share; a part is an epoch."""
    return config_from_dict(
        {
            "schema_version": 2,
            "config_id": "CartPole-v1:benchmark",
            "algo_id": "ppo",
            "env_id": "CartPole-v1",
            "vectorization": "torch",
            "device": device,
            "seed": seed,
            "n_envs": n_envs,
            "n_steps": N_STEPS,
            "n_epochs": N_PASSES,
            "batch_size": 1.0 / N_MINIBATCHES,
            "rollouts_per_epoch": n_iterations,
            "max_timesteps": n_parts * n_iterations * N_STEPS * n_envs,
            "optimizer": "Adam",
            "policy_lr": 1e-3,
            "policy_kwargs": {"hidden_dims": [64, 64], "activation": "tanh"},
            "eval_freq_epochs": None,
            "early_stop_on_eval_reward": False,
            "video": "none",
        }
    )


class EpochMoments(Callback):
    """Notes when each epoch ended, after all other callbacks."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seconds.append(time.perf_counter())


def time_jax(*, n_envs: int, n_parts: int, n_iterations: int, seed: int) -> TrainingSpeed:
    """Train the JAX peer with the same settings on JAX's first device."""
    from utils.benchmarks.jax_ppo import JaxSettings, prepare_jax_training

    settings = JaxSettings(
        n_envs=n_envs, n_steps=N_STEPS, n_epochs=N_PASSES, n_minibatches=N_MINIBATCHES
    )
    moments = [time.perf_counter()]
    advance = prepare_jax_training(settings, seed=seed)
    mean_length = math.nan
    for _ in range(n_parts):
        mean_length = advance(n_iterations)
        moments.append(time.perf_counter())
    return speed_from_moments(
        "JAX, one jitted function",
        moments,
        n_envs=n_envs,
        n_iterations=n_iterations,
        mean_length=mean_length,
    )


def why_not(name: str, *, device: str) -> str | None:
    """Say why a contestant cannot take part; None if it can.

    Args:
        name: "ours", "graph", "eager" or "jax".
        device: "cuda" or "cpu".
    """
    if name == "graph" and device != "cuda":
        return "graphs are captured on CUDA only"
    if name != "jax":
        return None
    if importlib.util.find_spec("jax") is None:
        return "JAX is not installed"
    import jax

    backend = jax.default_backend()
    if (backend == "gpu") != (device == "cuda"):
        return f"JAX computes on the {backend} here"
    return None


def device_name(device: str) -> str:
    """Return what the device calls itself."""
    return torch.cuda.get_device_name() if device == "cuda" else "cpu"
