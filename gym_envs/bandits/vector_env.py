"""Many bandit problems behind one vector environment."""

from __future__ import annotations

import zlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import override

from gym_envs.arguments import check_sizes, outside, read_actions
from gym_envs.bandits.env import RENDER_FPS, draw_key
from gym_envs.bandits.picture import draw_picture
from gym_envs.bandits.settings import read_settings
from gym_envs.bandits.table import BanditTable, observation_space
from gym_envs.episode_generators import export_generators, load_generators


class BanditVectorEnv(VectorEnv):
    """N bandit problems stepped by array operations.

    Environment i of a reset with seed s plays what `BanditEnv` plays when it is reset with s + i,
    number for number. An episode that ends is followed by the next one's first observation in the
    same step (SAME_STEP); what the step led to is `infos["final_obs"]`, whose rows count where
    `infos["_final_obs"]` is true, and `infos["episode_metrics"]` tells of these episodes, NaN for
    the others. An episode ends `terminated` at its horizon, `truncated` at a shorter limit.

    Attributes:
        env_id: Id of the environment.
        max_episode_steps: Steps after which an episode ends.
        reward_threshold: None: what can be reached depends on the arms.
        render_fps: Frames per second of its pictures.
        vectorization_name: "native".
        table: The problems.
    """

    vectorization_name = "native"
    reward_threshold = None
    render_fps = RENDER_FPS

    def __init__(
        self,
        num_envs: int,
        *,
        env_id: str = "Bandit",
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """Allocate the problems.

        Args:
            num_envs: Number of environments N, at least 1.
            env_id: Named in errors.
            max_episode_steps: A limit shorter than the horizon, at which episodes are truncated.
            render_mode: "rgb_array" or None.
            **settings: As in `BanditSettings`.

        Raises:
            ConfigError: A setting is out of range or without effect.
            ValueError: `num_envs` or `max_episode_steps` is.
        """
        check_sizes(num_envs, max_episode_steps)
        self.settings = read_settings(settings)
        if max_episode_steps is not None and max_episode_steps > self.settings.horizon:
            raise ValueError(
                f"max_episode_steps {max_episode_steps} exceeds the horizon {self.settings.horizon}"
            )
        self.env_id, self.num_envs, self.render_mode = env_id, num_envs, render_mode
        self.max_episode_steps = max_episode_steps or self.settings.horizon
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": RENDER_FPS,
            "autoreset_mode": AutoresetMode.SAME_STEP,
        }
        self.single_observation_space = observation_space(self.settings)
        self.single_action_space = gym.spaces.Discrete(self.settings.n_arms)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.table = BanditTable(self.settings, num_envs)
        self._generators: list[np.random.Generator] = []

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: Environment i gets seed + i; the action spaces are seeded with it too. None goes
                on with the generators as they are.
            options: Not used.

        Returns:
            Observation (N, n_observation) float32 and empty infos.
        """
        del options
        if seed is not None or not self._generators:
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
            self._generators = [seeding.np_random(own)[0] for own in seeds]
        if seed is not None:
            self.action_space.seed(seed)
            self.single_action_space.seed(seed)
        self._begin(np.arange(self.num_envs))
        return self.table.observe(), {}

    def _begin(self, rows: np.ndarray) -> None:
        keys = [draw_key(self._generators[i]) for i in rows]
        self.table.begin(rows, np.array(keys, dtype=np.uint64))

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Pull an arm of every problem.

        Args:
            actions: (N,) int64, arms from 0.

        Returns:
            Observation (N, n_observation) float32, reward (N,) float64, terminated (N,) bool,
            truncated (N,) bool, infos; fresh arrays.

        Raises:
            ValueError: An action is no arm, or of another shape or kind.
        """
        assert self._generators, "reset() comes before step()"
        actions = read_actions(actions, self.action_space)
        if actions.min() < 0 or actions.max() >= self.settings.n_arms:
            raise outside(actions, self.settings.n_arms)
        table = self.table
        reward = table.pull(actions)
        terminated = table.is_over()
        truncated = ~terminated & (table.time >= self.max_episode_steps)
        observation = table.observe()
        done = terminated | truncated
        if not done.any():
            return observation, reward, terminated, truncated, {}
        metrics = table.episode_metrics()
        infos = {
            "final_obs": observation,
            "_final_obs": done,
            "episode_metrics": {k: np.where(done, v, np.nan) for k, v in metrics.items()},
        }
        self._begin(np.flatnonzero(done))
        return table.observe(), reward, terminated, truncated, infos

    def get_state(self) -> dict[str, Any]:
        """Return everything needed to go on bit for bit, as arrays and plain containers."""
        assert self._generators, "reset() comes before get_state()"
        return {
            "kind": "native",
            "env_id": self.env_id,
            "table": self.table.get_state(),
            **export_generators(self, self._generators),
        }

    def set_state(self, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Go on with the episodes of a saved state.

        Args:
            state: What `get_state` returned, for as many of the same environment.

        Returns:
            The observation (N, n_observation), and (N,) bool: true everywhere, unless the state is
            of another vectorization. Then it cannot be taken over, and new episodes have begun.

        Raises:
            CheckpointError: The state is of another number of environments.
        """
        if state.get("kind") != "native":
            seed = zlib.crc32(repr(state["generators"]).encode())
            return self.reset(seed=seed)[0], np.zeros(self.num_envs, dtype=np.bool_)
        self._generators = load_generators(self, state)
        self.table.set_state(state["table"])
        return self.table.observe(), np.ones(self.num_envs, dtype=np.bool_)

    @override
    def render(self) -> tuple[np.ndarray, ...]:
        """Return a picture of each problem, (height, width, 3) uint8."""
        if self.render_mode != "rgb_array":
            raise gym.error.Error("there are no pictures without render_mode='rgb_array'")
        return tuple(draw_picture(self.table, row) for row in range(self.num_envs))
