"""Many finite environments of one table behind one vector environment."""

from __future__ import annotations

import copy
import zlib
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import override

from gym_envs.arguments import check_sizes, outside, read_actions
from gym_envs.episode_generators import export_generators, load_generators
from gym_envs.toy_text.table import TransitionTable, read_table


class TableVectorEnv(VectorEnv):
    """N copies of a toy text environment, stepped by array operations.

    Environment i of a reset with seed s does what Gymnasium's own does when it is reset with s + i,
    number for number: each draws from a generator of its own. An episode that ends is followed by
    the next one's first observation in the same step (SAME_STEP); what the step led to is
    `infos["final_obs"]`, whose rows count where `infos["_final_obs"]` is true.

    Attributes:
        env_id: Id of the environment.
        max_episode_steps: Steps after which an episode is truncated, or None.
        reward_threshold: Mean return that counts as solved, or None.
        render_fps: Frames per second of its pictures.
        vectorization_name: "native".
        table: The rules.
    """

    vectorization_name = "native"
    render_mode = None

    def __init__(self, num_envs: int, *, env: gym.Env, env_id: str) -> None:
        """Read the rules.

        Args:
            num_envs: Number of environments N, at least 1.
            env: One of the environments, with its time limit; it is not stepped.
            env_id: Named in errors.

        Raises:
            ValueError: `num_envs` is out of range.
        """
        spec = env.spec
        assert spec is not None, env
        check_sizes(num_envs, spec.max_episode_steps)
        self.env_id, self.num_envs = env_id, num_envs
        self.max_episode_steps = spec.max_episode_steps
        self.reward_threshold = spec.reward_threshold
        self.render_fps = int(env.metadata["render_fps"])
        self.metadata = {"render_fps": self.render_fps, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = copy.deepcopy(env.observation_space)
        self.single_action_space = copy.deepcopy(env.action_space)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.table: TransitionTable = read_table(env.unwrapped)
        self._n_states, self._n_actions, self._n_outcomes = self.table.cumulated.shape
        self._cumulated = self.table.cumulated.reshape(-1, self._n_outcomes)
        self._state = np.zeros(num_envs, np.int64)
        self._age = np.zeros(num_envs, np.int64)
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
            Observation (N,) int64 and empty infos.
        """
        del options
        if seed is not None or not self._generators:
            seeds = [None if seed is None else seed + i for i in range(self.num_envs)]
            self._generators = [seeding.np_random(own)[0] for own in seeds]
        if seed is not None:
            self.action_space.seed(seed)
            self.single_action_space.seed(seed)
        self._begin(range(self.num_envs))
        return self._state.copy(), {}

    def _begin(self, rows: Any) -> None:
        drawn = [self._generators[i].random() for i in rows]
        # Where rounding leaves all sums at or below the number, Gymnasium takes the first state.
        self._state[rows] = self.table.starts.searchsorted(drawn, "right") % self._n_states
        self._age[rows] = 0

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments.

        Args:
            actions: (N,) int64, choices from 0.

        Returns:
            Observation (N,) int64, reward (N,) float64, terminated (N,) bool, truncated (N,) bool,
            infos; fresh arrays.

        Raises:
            ValueError: An action does not exist, or actions have another shape or kind.
        """
        assert self._generators, "reset() comes before step()"
        actions = read_actions(actions, self.action_space)
        if actions.min() < 0 or actions.max() >= self._n_actions:
            raise outside(actions, self._n_actions)
        rule = self._state * self._n_actions + actions
        drawn = np.array([generator.random() for generator in self._generators])
        outcome = (self._cumulated.take(rule, 0) > drawn[:, None]).argmax(1)
        place = rule * self._n_outcomes + outcome
        table = self.table
        self._state = table.next_state.take(place)
        self._age += 1
        terminated = table.terminated.take(place)
        if self.max_episode_steps is None:
            truncated = np.zeros_like(terminated)
        else:
            truncated = (self._age >= self.max_episode_steps) & ~terminated
        infos: dict[str, Any] = {}
        done = terminated | truncated
        if done.any():
            infos = {"final_obs": self._state.copy(), "_final_obs": done}
            self._begin(np.flatnonzero(done))
        return self._state.copy(), table.reward.take(place), terminated, truncated, infos

    def get_state(self) -> dict[str, Any]:
        """Return everything needed to go on bit for bit, as arrays and plain containers."""
        assert self._generators, "reset() comes before get_state()"
        return {
            "kind": "native",
            "state": self._state.copy(),
            "age": self._age.copy(),
            **export_generators(self, self._generators),
        }

    def set_state(self, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Go on with the episodes of a saved state.

        Args:
            state: What `get_state` returned, for as many of the same environment.

        Returns:
            The observation (N,) int64, and (N,) bool: true everywhere, unless the state is of
            another vectorization. Then it cannot be taken over, and new episodes have begun.

        Raises:
            CheckpointError: The state is of another number of environments.
        """
        if state.get("kind") != "native":
            seed = zlib.crc32(repr(state["generators"]).encode())
            return self.reset(seed=seed)[0], np.zeros(self.num_envs, dtype=np.bool_)
        self._generators = load_generators(self, state)
        self._state, self._age = np.array(state["state"]), np.array(state["age"])
        return self._state.copy(), np.ones(self.num_envs, dtype=np.bool_)
