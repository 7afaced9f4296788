"""A vector environment that one compiled call steps."""

from __future__ import annotations

import copy
import zlib
from typing import Any, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from typing_extensions import override

from gym_envs.arguments import (
    check_sizes,
    find_classic_spec,
    outside,
    read_actions,
    read_reset_mask,
    take_seed,
)
from gym_envs.physics import classic_spec
from gym_envs.simd.arrays import SimdArrays, address_table, allocate_arrays
from utils.errors import CheckpointError

_SAVED = ("state", "random", "is_first", "episode_return", "episode_length")
_OUTCOMES = ("reward", "terminated", "truncated")


class SimdVectorEnv(VectorEnv):
    """N classic environments in flat float32 arrays, stepped by vector instructions.

    An episode that ends is followed by the next one's first observation in the same step
    (SAME_STEP); what the step itself led to is `infos["final_obs"]` then, whose rows count where
    `infos["_final_obs"]` is true. `terminated` and `truncated` are never both true.

    An environment's episodes depend on the seed, its index and the actions alone: not on how many
    others there are, nor on the number of threads.

    Attributes:
        env_id: Gymnasium's id of the environment.
        max_episode_steps: Steps after which an episode is truncated.
        reward_threshold: Mean return that counts as solved, or None.
        render_fps: Frames per second of its pictures.
        vectorization_name: "simd".
        step_kernel: Compiled function: `env.step_kernel(*env.arrays)` steps all environments with
            the actions in `env.arrays.action`, from Python as from compiled code.
        first_index: Index of the first environment among those of a seed; set before `reset` where
            this object has a part of them.
    """

    vectorization_name = "simd"
    first_index = 0

    def __init__(
        self,
        env_id: str,
        num_envs: int,
        *,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        copy: bool = True,
        n_threads: int = 1,
    ) -> None:
        """Compile the environment's kernels, or load them, and allocate its arrays.

        Args:
            env_id: Id of an environment that `gym_envs.physics` has.
            num_envs: Number of environments N, at least 1.
            max_episode_steps: Replaces the environment's own limit.
            render_mode: "rgb_array" or None.
            copy: Return copies. Else `step` and `reset` return the arrays that are worked on: two
                sets in turn, so what a step returns is overwritten by the step after the next.
            n_threads: Threads that share the work. They pay from some ten thousand environments
                on, and only where no other program wants their cores.

        Raises:
            ValueError: An argument is out of range, or there are not that many threads.
            NameNotFound: There is no such environment.
        """
        check_sizes(num_envs, max_episode_steps)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', got {render_mode!r}")
        spec = find_classic_spec(env_id)
        self.env_id, self.num_envs = env_id, num_envs
        self.max_episode_steps = max_episode_steps or spec.max_episode_steps
        self.reward_threshold, self.render_fps = spec.reward_threshold, spec.render_fps
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": spec.render_fps,
            "autoreset_mode": AutoresetMode.SAME_STEP,
        }
        self.render_mode = render_mode
        self.single_observation_space = spec.observation_space()
        self.single_action_space = spec.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._set_up(copy=copy, n_threads=n_threads)

    def _set_up(self, *, copy: bool, n_threads: int) -> None:
        # numba is imported where an environment is built, not where one is registered.
        from gym_envs.simd.compilation import (
            compile_kernels,
            compile_threaded_step,
            most_threads,
        )

        if not 1 <= n_threads <= most_threads():
            most = most_threads()
            raise ValueError(
                f"n_threads must be 1 to {most}, got {n_threads}: this machine has {most} cores "
                "(numba's threads)"
            )
        self._kernels = compile_kernels(self.env_id)
        self.step_kernel = self._kernels.step_kernel
        self._copy, self._n_threads = copy, n_threads
        self._step_at = self._kernels.step_at
        if n_threads > 1:
            self._threaded_step = compile_threaded_step(self.env_id)
            self._step_at = self._step_with_threads
        self._sets = allocate_arrays(classic_spec(self.env_id), self.num_envs)
        self._sets[0].limits[0] = self.max_episode_steps
        self._tables = tuple(address_table(arrays) for arrays in self._sets)
        self._turn = 0
        self._is_started = False
        self._painter: Any = None
        # What a step needs of each set, ready: addresses, and results as they are returned.
        self._steps = tuple(
            (
                table.__array_interface__["data"][0],
                arrays.observation,
                arrays.reward,
                arrays.terminated,
                arrays.truncated,
                arrays.final_observation,
            )
            for table, arrays in zip(self._tables, self._sets, strict=True)
        )

    @property
    def arrays(self) -> SimdArrays:
        """The arrays that hold the latest results; compiled callers step in them."""
        return self._sets[self._turn]

    @property
    def step_pointer(self) -> int:
        """Address of a C function ``int64 step(int64 table, int64 start, int64 stop)``.

        It does what `step_kernel` does to the environments from `start` to `stop` of the arrays
        that `address_table` lists, and returns whether an episode ended.
        """
        from gym_envs.simd.compilation import find_step_pointer

        return find_step_pointer(self.env_id)

    @property
    def episode_returns(self) -> np.ndarray:
        """(N,) float32, sum of rewards of the episode that the last step belonged to."""
        return self._sets[0].episode_return.copy()

    @property
    def episode_lengths(self) -> np.ndarray:
        """(N,) int32, steps of the episode that the last step belonged to, so far."""
        return self._sets[0].episode_length.copy()

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
            The observation (N, n_observation) float32, and an empty dict.

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
        before = self.arrays.observation
        self._turn ^= 1
        arrays = self.arrays
        arrays.observation[:] = before
        self._kernels.reset_masked(
            mask,
            arrays.observation,
            arrays.is_first,
            arrays.episode_return,
            arrays.episode_length,
            arrays.state,
            arrays.random,
        )
        self._is_started = True
        self._clear_outcomes()
        return (arrays.observation.copy() if self._copy else arrays.observation), {}

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments; those that end begin a new episode in the same call.

        Args:
            actions: (N,) whole or (N, 1) real numbers; int64, int32 and float32 are fastest.

        Returns:
            Observation (N, n_observation) float32, reward (N,) float32, terminated (N,) bool,
            truncated (N,) bool, infos.

        Raises:
            ResetNeeded: There was no reset.
            ClosedEnvironmentError: The environments were closed.
            ValueError: The actions do not fit the action space.
        """
        turn = self._turn ^ 1
        address, observation, reward, terminated, truncated, final = self._steps[turn]
        try:
            code = self._step_at(address, actions)
        except TypeError:
            actions = read_actions(actions, self.action_space)
            code = self._step_at(address, actions)
        if code < 0 or not self._is_started:
            self._refuse(actions)
        self._turn = turn
        if self._copy:
            observation, reward = observation.copy(), reward.copy()
            terminated, truncated = terminated.copy(), truncated.copy()
        if code == 0:
            return observation, reward, terminated, truncated, {}
        infos = {
            "final_obs": final.copy() if self._copy else final,
            "_final_obs": terminated | truncated,
        }
        return observation, reward, terminated, truncated, infos

    def _step_with_threads(self, address: int, actions: np.ndarray) -> int:
        import numba

        before = numba.get_num_threads()
        numba.set_num_threads(self._n_threads)
        try:
            return self._threaded_step(address, actions, self._n_threads)
        finally:
            numba.set_num_threads(before)

    def _refuse(self, actions: np.ndarray) -> NoReturn:
        if self.closed:
            raise ClosedEnvironmentError("step() comes after close()")
        if not self._is_started:
            raise ResetNeeded("reset() comes before step()")
        read_actions(actions, self.action_space)
        n_actions = classic_spec(self.env_id).n_actions
        if n_actions:
            raise outside(actions, n_actions)
        raise ValueError("actions must be numbers, got NaN among them")

    def _seed(self, seed: int | None) -> None:
        from gym_envs.simd.random_words import seed_words

        number = take_seed(seed, self.action_space, self.single_action_space)
        self._sets[0].random[:] = seed_words(number, self.num_envs, self.first_index)

    def _clear_outcomes(self) -> None:
        for name in _OUTCOMES:
            getattr(self.arrays, name).fill(0)

    def get_state(self) -> dict[str, Any]:
        """Return everything needed to go on bit for bit, as arrays and plain containers."""
        assert self._is_started, "reset() comes before get_state()"
        arrays = self.arrays
        return {
            "kind": "simd",
            "env_id": self.env_id,
            "arrays": {name: getattr(arrays, name).copy() for name in _SAVED},
            "generators": {
                "action_space": copy.deepcopy(self.action_space.np_random.bit_generator.state),
                "single_action_space": copy.deepcopy(
                    self.single_action_space.np_random.bit_generator.state
                ),
            },
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
        if state.get("kind") != "simd":
            # The generators of the action spaces came from the run's own seed.
            seed = zlib.crc32(repr(state["generators"]).encode())
            observation, _ = self.reset(seed=seed)
            return observation, np.zeros(self.num_envs, dtype=np.bool_)
        saved = state["arrays"]
        assert state["env_id"] == self.env_id, (state["env_id"], self.env_id)
        n_saved = len(saved["is_first"])
        if n_saved != self.num_envs:
            raise CheckpointError(
                f"the saved state is of {n_saved} environments of {self.env_id}, not of "
                f"{self.num_envs}: resume with n_envs: {n_saved}"
            )
        self._turn ^= 1
        arrays = self.arrays
        for name in _SAVED:
            getattr(arrays, name)[:] = saved[name]
        self._kernels.observe_all(arrays.observation, arrays.state)
        generators = state["generators"]
        self.action_space.np_random.bit_generator.state = generators["action_space"]
        self.single_action_space.np_random.bit_generator.state = generators["single_action_space"]
        self._is_started = True
        self._clear_outcomes()
        observation = arrays.observation.copy() if self._copy else arrays.observation
        return observation, np.ones(self.num_envs, dtype=np.bool_)

    @override
    def render(self) -> tuple[np.ndarray, ...]:
        """Return a picture of each environment, (height, width, 3) uint8, drawn by Gymnasium's."""
        if self.render_mode != "rgb_array":
            raise gym.error.Error("there are no pictures without render_mode='rgb_array'")
        if self._painter is None:
            from gym_envs.simd.painter import Painter

            self._painter = Painter(self.env_id)
        return tuple(self._painter.draw(state) for state in self._sets[0].state.T)

    @override
    def close_extras(self, **kwargs: Any) -> None:
        """Close the window that pictures are drawn in; there is no step any more."""
        self._is_started = False
        if self._painter is not None:
            self._painter.close()
