"""The data source of agents that take in every step once, as it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from utils.dataloaders.data_source import build_hook_loader
from utils.rollouts import RolloutSummary
from utils.rollouts.experience_collector import ExperienceCollector, Step


class StreamSource:
    """Steps the environments and keeps nothing; the batch of an epoch only says that it is due."""

    def __init__(
        self, collector: ExperienceCollector, *, steps_per_epoch: int, max_timesteps: int
    ) -> None:
        """Put collector and pace together.

        Args:
            collector: Steps the environments.
            steps_per_epoch: Vector steps of an epoch; the last one of a run may have fewer.
            max_timesteps: Environment steps of the run, over all environments.
        """
        self.collector = collector
        self._steps_per_epoch, self._max_timesteps = steps_per_epoch, max_timesteps
        self.loader = build_hook_loader("epoch")

    def collect(self, write: Callable[[Step], object]) -> RolloutSummary:
        """Make the vector steps of one epoch, each handed to `write`."""
        missing = self._max_timesteps - self.collector.timesteps
        n_vec_steps = -(-missing // self.collector.env.num_envs)
        n_vec_steps = min(self._steps_per_epoch, n_vec_steps)
        self.collector.collect(n_vec_steps, is_random=False, write=write)
        return self.collector.summarize()

    @property
    def has_started(self) -> bool:
        """Whether the environments have been reset, or restored."""
        return self.collector.has_started

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before the first step."""
        self.collector.reset(seed=seed)

    def state_dict(self) -> dict[str, Any]:
        """Return environments, episodes and generators."""
        return {"collector": self.collector.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; returns how many environments could not be."""
        return len(self.collector.load_state_dict(state["collector"]))
