"""Many cells behind Gymnasium's vector interface, stepped by one compiled call."""

from __future__ import annotations

import copy as copying
import zlib
from typing import Any, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import override

from gym_envs.arguments import check_sizes, outside, read_actions, read_reset_mask, take_seed
from gym_envs.ccas_ccar.task import ENV_ID, MAX_EPISODE_STEPS, RENDER_FPS, Task
from utils.errors import CheckpointError

_N_ACTIONS = 2


class CcasCcarVectorEnv(VectorEnv):
    """N cells with the CcaS-CcaR circuit; the light of each is red (0) or green (1).

    An episode that ends is followed by the next one's first observation in the same step
    (SAME_STEP); what the step itself led to is `infos["final_obs"]` then, whose rows count where
    `infos["_final_obs"]` is true. Episodes are never terminated, only truncated. `infos` holds `F`,
    `H` (N,) int64 and `target` (N,) float64 of the state that the step led to, before any reset,
    and where episodes ended `episode_metrics` with `mean_absolute_error` (N,) float64, NaN
    elsewhere.

    A cell's episodes depend on the seed, its index and the actions alone: not on how many others
    there are, nor on the number of threads.

    Attributes:
        env_id: "CcasCcar-v0".
        max_episode_steps: Steps after which an episode is truncated.
        reward_threshold: None: no return counts as solved.
        render_fps: Frames per second of the single environment's pictures.
        vectorization_name: "native".
        cells: The arrays that are worked on.
        first_index: Index of the first cell among those of a seed; set before `reset` where this
            object has a part of them.
    """

    env_id = ENV_ID
    first_index = 0
    vectorization_name = "native"
    reward_threshold = None
    render_fps = RENDER_FPS

    def __init__(
        self,
        num_envs: int,
        *,
        target: str = "constant",
        n_horizon: int = 1,
        kinetics_sigma: float = 0.0,
        max_episode_steps: int | None = None,
        frame_stack: int = 1,
        copy: bool = True,
        n_threads: int = 1,
    ) -> None:
        """Allocate the cells.

        Args:
            num_envs: Number of environments N, at least 1.
            target: As of `Task`.
            n_horizon: As of `Task`.
            kinetics_sigma: As of `Task`.
            max_episode_steps: Replaces the limit of 288 steps.
            frame_stack: Newest observations in one row, oldest first; the first one of an episode
                fills the whole row.
            copy: Return copies. Else `step` and `reset` return the arrays that are worked on: two
                sets in turn, so what a step returns is overwritten by the step after the next.
            n_threads: Threads that share the work.

        Raises:
            ValueError: An argument is out of range, or there are not that many threads.
        """
        check_sizes(num_envs, max_episode_steps)
        task = Task(target=target, n_horizon=n_horizon, kinetics_sigma=kinetics_sigma)
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps or MAX_EPISODE_STEPS
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = None
        self.single_observation_space = task.observation_space(frame_stack)
        self.single_action_space = gym.spaces.Discrete(_N_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._copy = copy
        self._is_started = False
        # numba is imported where an environment is built, not where one is registered.
        from gym_envs.ccas_ccar.cells import Cells, check_threads

        check_threads(n_threads)
        self.cells = Cells(
            task,
            num_envs,
            max_episode_steps=self.max_episode_steps,
            frame_stack=frame_stack,
            n_threads=n_threads,
        )

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: Whole number >= 0 that decides all episodes from now on, and seeds the action
                spaces; None goes on with the random numbers as they are.
            options: `reset_mask`, (N,) bool: only these environments begin anew.

        Returns:
            The observation (N, n) float32, and infos.

        Raises:
            ClosedEnvironmentError: The environments were closed.
        """
        if self.closed:
            raise ClosedEnvironmentError("reset() comes after close()")
        if seed is not None or not self._is_started:
            self._seed(seed)
        mask = np.ones(self.num_envs, dtype=np.bool_)
        if options is not None and "reset_mask" in options:
            mask = read_reset_mask(options["reset_mask"], self.num_envs)
        outputs = self.cells.turn()
        self.cells.begin(mask)
        self._is_started = True
        self.cells.show_state()
        return self._give(outputs.observation), self._build_infos(has_done=False)

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Let five minutes pass in all cells; those whose day is over begin a new episode.

        Args:
            actions: (N,) 0 for red light or 1 for green.

        Returns:
            Observation (N, n) float32, reward (N,) float64, terminated (N,) bool, truncated (N,)
            bool, infos.

        Raises:
            ResetNeeded: There was no reset.
            ClosedEnvironmentError: The environments were closed.
            ValueError: The actions do not fit the action space.
        """
        if not self._is_started:
            self._refuse()
        actions = read_actions(actions, self.action_space)
        if actions.min() < 0 or actions.max() >= _N_ACTIONS:
            raise outside(actions, _N_ACTIONS)
        self.cells.light[:] = actions
        has_done = self.cells.step()
        outputs = self.cells.outputs
        return (
            self._give(outputs.observation),
            self._give(outputs.reward),
            np.zeros(self.num_envs, dtype=np.bool_),
            self._give(outputs.truncated),
            self._build_infos(has_done=has_done),
        )

    def _give(self, array: np.ndarray) -> np.ndarray:
        return array.copy() if self._copy else array

    def _build_infos(self, *, has_done: bool) -> dict[str, Any]:
        outputs = self.cells.outputs
        infos: dict[str, Any] = {
            "H": self._give(outputs.level[0]),
            "F": self._give(outputs.level[1]),
            "target": self._give(outputs.target),
        }
        if has_done:
            infos["final_obs"] = self._give(outputs.final_observation)
            infos["_final_obs"] = self._give(outputs.truncated)
            error = np.where(outputs.truncated, outputs.mean_error, np.nan)
            infos["episode_metrics"] = {"mean_absolute_error": error}
        return infos

    def _refuse(self) -> NoReturn:
        if self.closed:
            raise ClosedEnvironmentError("step() comes after close()")
        raise ResetNeeded("reset() comes before step()")

    def _seed(self, seed: int | None) -> None:
        from gym_envs.simd.random_words import seed_words

        number = take_seed(seed, self.action_space, self.single_action_space)
        self.cells.random[:] = seed_words(number, self.num_envs, self.first_index)

    def get_state(self) -> dict[str, Any]:
        """Return everything needed to go on bit for bit, as arrays and plain containers."""
        assert self._is_started, "reset() comes before get_state()"
        arrays = {name: getattr(self.cells, name).copy() for name in self.cells.SAVED}
        arrays["observation"] = self.cells.outputs.observation.copy()
        return {
            "kind": "native",
            "env_id": self.env_id,
            "arrays": arrays,
            "generators": {
                "action_space": copying.deepcopy(self.action_space.np_random.bit_generator.state),
                "single_action_space": copying.deepcopy(
                    self.single_action_space.np_random.bit_generator.state
                ),
            },
        }

    def set_state(self, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Go on with the episodes of a saved state.

        Args:
            state: What `get_state` returned, for as many of the same environment.

        Returns:
            The observation (N, n), and (N,) bool: true everywhere, unless the state is of another
            vectorization. Then it cannot be taken over, and new episodes have begun.

        Raises:
            CheckpointError: The state is of another number of environments.
        """
        if state.get("kind") != "native":
            # The generators of the action spaces came from the run's own seed.
            seed = zlib.crc32(repr(state["generators"]).encode())
            observation, _ = self.reset(seed=seed)
            return observation, np.zeros(self.num_envs, dtype=np.bool_)
        saved = state["arrays"]
        assert state["env_id"] == self.env_id, (state["env_id"], self.env_id)
        n_saved = len(saved["length"])
        if n_saved != self.num_envs:
            raise CheckpointError(
                f"the saved state is of {n_saved} environments of {self.env_id}, not of "
                f"{self.num_envs}: resume with n_envs: {n_saved}"
            )
        outputs = self.cells.turn()
        for name in self.cells.SAVED:
            getattr(self.cells, name)[:] = saved[name]
        outputs.observation[:] = saved["observation"]
        self.cells.show_state()
        generators = state["generators"]
        self.action_space.np_random.bit_generator.state = generators["action_space"]
        self.single_action_space.np_random.bit_generator.state = generators["single_action_space"]
        self._is_started = True
        return self._give(outputs.observation), np.ones(self.num_envs, dtype=np.bool_)

    @override
    def close_extras(self, **kwargs: Any) -> None:
        """Let no step follow."""
        self._is_started = False
