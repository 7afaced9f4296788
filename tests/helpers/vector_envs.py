"""A vector environment whose every number says where and when it was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

N_ACTIONS = 1000
Reward = Callable[[int, int, int], float]


def encode(env_index: Any, episode: Any, step: Any) -> Any:
    """Number of an observation; no two of a test share one (episodes and steps below 10)."""
    return 100 * env_index + 10 * episode + step


class CountingVectorEnv(VectorEnv):
    """Environment i shows (i, episode, step); an episode ends after `lengths[i]` steps.

    SAME_STEP autoreset. Observations, rewards and flags are the same arrays at each step, changed
    in place, which is the most that a vector environment may do to its caller. Episodes are
    counted on over `reset()`. Values are float32 so that they are stored exactly.
    """

    def __init__(
        self,
        lengths: Sequence[int | None],
        *,
        ends: Sequence[Literal["terminated", "truncated"]] | None = None,
        reward: Reward = lambda env_index, episode, step: 1.0,
        action_space: gym.Space | None = None,
        as_dict: bool = False,
    ) -> None:
        """Describe the environments.

        Args:
            lengths: Steps of every episode of each environment; None never ends.
            ends: How the episodes of each environment end; all terminate if None.
            reward: Paid for a step from (env_index, episode, step), step counting from 0.
            action_space: Single action space.
            as_dict: Show {"episode": ..., "when": ...} rather than one vector.
        """
        self.num_envs = len(lengths)
        self.as_dict = as_dict
        box = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        part = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        where = gym.spaces.Discrete(self.num_envs)
        self.single_observation_space = (
            gym.spaces.Dict({"when": part, "env": where}) if as_dict else box
        )
        self.single_action_space = action_space or gym.spaces.Discrete(N_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.env_id = "Counting-v0"
        self.cannot_restore: list[int] = []
        self.actions: list[np.ndarray] = []
        self.seeds: list[int | None] = []
        self._lengths = np.array([np.iinfo(np.int64).max if n is None else n for n in lengths])
        ends = ends or ["terminated"] * self.num_envs
        self._is_truncating = np.array([end == "truncated" for end in ends])
        self._pay = reward
        self._episode = np.full(self.num_envs, -1)
        self._step = np.zeros(self.num_envs, dtype=np.int64)
        self._shown = np.zeros((self.num_envs, 3), dtype=np.float32)
        self._final = np.full((self.num_envs, 3), np.nan, dtype=np.float32)
        self._reward = np.zeros(self.num_envs)
        self._terminated = np.zeros(self.num_envs, dtype=bool)
        self._truncated = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode everywhere."""
        self.seeds.append(seed)
        self._episode += 1
        self._step[:] = 0
        return self._show(), {}

    def step(self, actions: np.ndarray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Count one step everywhere."""
        self.actions.append(actions.copy())
        for i in range(self.num_envs):
            self._reward[i] = self._pay(i, int(self._episode[i]), int(self._step[i]))
        self._step += 1
        over = self._step >= self._lengths
        self._terminated[:] = over & ~self._is_truncating
        self._truncated[:] = over & self._is_truncating
        infos: dict[str, Any] = {}
        if over.any():
            self._show()
            self._final[:] = np.nan
            self._final[over] = self._shown[over]
            infos = {"final_obs": self._as_observation(self._final), "_final_obs": over}
            self._episode[over] += 1
            self._step[over] = 0
        return self._show(), self._reward, self._terminated, self._truncated, infos

    def get_state(self) -> dict[str, Any]:
        """Say where each environment is."""
        return {"episode": self._episode.tolist(), "step": self._step.tolist()}

    def set_state(self, state: dict[str, Any]) -> tuple[Any, np.ndarray]:
        """Go on from a state; the environments of `cannot_restore` begin a new episode."""
        self._episode[:], self._step[:] = state["episode"], state["step"]
        restored = ~np.isin(np.arange(self.num_envs), self.cannot_restore)
        self._episode[~restored] += 1
        self._step[~restored] = 0
        return self._show(), restored

    def _show(self) -> Any:
        self._shown[:, 0] = np.arange(self.num_envs)
        self._shown[:, 1] = self._episode
        self._shown[:, 2] = self._step
        return self._as_observation(self._shown)

    def _as_observation(self, table: np.ndarray) -> Any:
        if not self.as_dict:
            return table
        return {"env": np.nan_to_num(table[:, 0]).astype(np.int64), "when": table[:, 1:]}
