"""How long updates from sequences take: the same ones again and again, no environment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
import torch
from typing_extensions import override

KINDS = ("proprio", "vision")
N_NUMBERS = 24
"""Of an observation of DM Control's walker."""
N_ACTIONS = 6
_N_STORED = 1200
_BYTES = 255


class NoiseEnv(gym.Env[Any, np.ndarray]):
    """Observations of the shape of DM Control's walker, all of them noise; episodes of 500."""

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, kind: str) -> None:
        """Be of one of `KINDS`."""
        self.observation_space = (
            gym.spaces.Box(-1.0, 1.0, (N_NUMBERS,), np.float32)
            if kind == "proprio"
            else gym.spaces.Box(0, _BYTES, (3, 64, 64), np.uint8)
        )
        self.action_space = gym.spaces.Box(-1.0, 1.0, (N_ACTIONS,), np.float32)

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    @override
    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return noise, and a reward of noise."""
        del action
        reward = float(self.np_random.standard_normal())
        return self.observation_space.sample(), reward, False, False, {}


def register_noise(kind: str) -> str:
    """Make a `NoiseEnv` of `kind` known to Gymnasium; returns its id."""
    env_id = f"NoiseEnv{kind}-v0"
    if env_id not in gym.registry:
        gym.register(env_id, entry_point=lambda: NoiseEnv(kind), max_episode_steps=500)
    return env_id


class Task(Protocol):
    """Something whose updates are timed."""

    @property
    def settings(self) -> dict[str, Any]:
        """The config as saved JSON has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateTask:
    """Which updates are timed."""

    kind: str
    """Of `KINDS`."""
    size: str
    """See `utils.config.algos.world_model.SIZES`."""
    batch_size: int = 16
    sequence_length: int = 64
    horizon: int = 15
    device: str = "cpu"
    precision: str = "auto"

    @property
    def settings(self) -> dict[str, Any]:
        """The config as saved JSON has it."""
        env_id = register_noise(self.kind)
        return {
            "schema_version": 2,
            "config_id": f"{env_id}:dreamer",
            "algo_id": "dreamer",
            "env_id": env_id,
            "n_envs": 4,
            "vectorization": "sync",
            "max_timesteps": 1_000_000,
            "policy_kwargs": {"size": self.size},
            "batch_size": self.batch_size,
            "sequence_length": self.sequence_length,
            "imagination_horizon": self.horizon,
            "buffer_steps": 20_000,
            "device": self.device,
            "precision": self.precision,
            "normalize_obs": "none",
        }


class Timing(NamedTuple):
    """What was measured of one task."""

    n_parameters: int
    first_seconds: float
    """From nothing to the end of the first update, the building of the networks included."""
    milliseconds: list[float]
    """Of an update back to back, one number for each window."""
    peak_gib: float
    """Most memory of the device; 0 on the CPU."""


def time_updates(
    task: Task,
    build: Callable[[dict[str, Any]], Any],
    *,
    n_windows: int,
    n_updates: int,
    is_captured: bool = True,
) -> Timing:
    """Time updates of an agent of sequences on noise.

    Args:
        task: What is timed.
        build: Settings -> agent.
        n_windows: Measurements.
        n_updates: Updates of each.
        is_captured: Use graphs where the device has them.
    """
    started = time.perf_counter()
    agent = build(task.settings)
    if not is_captured:
        agent.__dict__["captured"] = None
    agent.source.reset(seed=0)
    _fill(agent)
    is_cuda = agent.compute_device.type == "cuda"
    agent.make_updates(1)
    _wait(is_cuda)
    first = time.perf_counter() - started
    agent.make_updates(2)
    windows = []
    for _ in range(n_windows):
        _wait(is_cuda)
        before = time.perf_counter()
        agent.make_updates(n_updates)
        _wait(is_cuda)
        windows.append((time.perf_counter() - before) / n_updates * 1e3)
    _, diverged = agent.log.flush()
    assert diverged is None, diverged
    n_parameters = sum(p.numel() for p in agent.policy.parameters())
    peak = torch.cuda.max_memory_allocated() / 2**30 if is_cuda else 0.0
    agent.close()
    return Timing(n_parameters, first, windows, peak)


def _fill(agent: Any) -> None:
    from utils.dataloaders import Round

    rows = agent.config.rows_of_sequence * agent.config.n_envs
    n_vec_steps = max(_N_STORED, 2 * rows) // agent.config.n_envs
    agent.source.collect(Round(n_vec_steps, is_random=True))


def _wait(is_cuda: bool) -> None:
    if is_cuda:
        torch.cuda.synchronize()
