"""The data source of loops that keep environments, rollout and update on one device."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from gymnasium.vector import VectorEnv
from torch.utils.data import DataLoader

from utils.dataloaders.data_source import HookBatch
from utils.device_rollouts import EpisodeWindow
from utils.errors import CheckpointError


class HasState(Protocol):
    """Something with a state of its own, such as random counters."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain containers and tensors."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""


class DeviceSource:
    """Nothing is handed over: the batch only says that iterations are due."""

    def __init__(self, env: VectorEnv, loop: HasState) -> None:
        """Put environment and loop together.

        Args:
            env: Vector environment that the loop steps.
            loop: Collects and learns; its state is saved with the environments'.
        """
        self.env = env
        self.loop = loop
        self.episodes = EpisodeWindow()
        """The latest episodes that ended; who runs the loop adds to it."""
        self.has_started = False
        self.loader: DataLoader[HookBatch] = DataLoader(
            [HookBatch("iterations")],  # type: ignore[arg-type]
            batch_size=None,
        )

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before the first iteration."""
        self.env.reset(seed=seed)
        self.has_started = True

    def state_dict(self) -> dict[str, Any]:
        """Return environments, loop and latest episodes."""
        return {
            "env": self.env.get_state(),  # type: ignore[attr-defined]
            "loop": self.loop.state_dict(),
            "episodes": self.episodes.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; returns how many environments could not be.

        Raises:
            CheckpointError: The state is of a source that collects rollouts.
        """
        if "env" not in state:
            saved = state["collector"]["env"].get("kind", "sync")
            raise CheckpointError(
                f"the saved state is of vectorization: {saved}, and the run's config.json leads to "
                f'torch now: put "vectorization": "{saved}" back into it'
            )
        _, restored = self.env.set_state(state["env"])  # type: ignore[attr-defined]
        self.loop.load_state_dict(state["loop"])
        self.episodes.load_state_dict(state["episodes"])
        self.has_started = True
        return int(np.count_nonzero(~restored))
