"""How long updates and plans of TD-MPC2 take, without an environment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from utils.benchmarks.world_model_speed import register_noise


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentPlanningTask:
    """Which updates and plans are timed."""

    size: str
    """See `utils.config.algos.tdmpc.TDMPC_SIZES`."""
    batch_size: int = 256
    n_envs: int = 1
    device: str = "cpu"
    precision: str = "float32"

    @property
    def settings(self) -> dict[str, Any]:
        """The config as saved JSON has it; observations and actions of DM Control's walker."""
        env_id = register_noise("proprio")
        return {
            "schema_version": 2,
            "config_id": f"{env_id}:tdmpc",
            "algo_id": "tdmpc",
            "env_id": env_id,
            "n_envs": self.n_envs,
            "vectorization": "sync",
            "max_timesteps": 1_000_000,
            "policy_kwargs": {"size": self.size},
            "batch_size": self.batch_size,
            "buffer_steps": 20_000,
            "device": self.device,
            "precision": self.precision,
            "normalize_obs": "none",
        }


def time_plans(
    task: LatentPlanningTask,
    build: Callable[[dict[str, Any]], Any],
    *,
    n_windows: int,
    n_plans: int,
    is_captured: bool = True,
) -> list[float]:
    """Return milliseconds of a plan for all environments, copies included; one for each window.

    Args:
        task: What is timed.
        build: Settings -> agent.
        n_windows: Measurements.
        n_plans: Plans of each.
        is_captured: Use graphs where the device has them.
    """
    agent = build(task.settings)
    explorer, device = agent.source.collector.explorer, agent.compute_device
    if not is_captured:
        explorer._captured = None
    shown = torch.randn((task.n_envs, *agent.train_env.single_observation_space.shape))
    state = agent.policy.initial_state(task.n_envs)

    def plan() -> None:
        decision = explorer.decide(shown.to(device), mask=None, timesteps=0, state=state)
        decision.action.cpu()
        state.copy_(decision.state)

    windows = []
    with torch.inference_mode():
        state = state.clone()
        for _ in range(3):
            plan()
        for _ in range(n_windows):
            started = time.perf_counter()
            for _ in range(n_plans):
                plan()
            windows.append((time.perf_counter() - started) / n_plans * 1e3)
    agent.close()
    return windows
