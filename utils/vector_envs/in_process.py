"""Environments stepped one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import EnvironmentFailedError
from utils.vector_envs.base_vector_env import (
    BaseVectorEnv,
    environment_failed,
    find_reward_source,
    find_termination_source,
    read_facts,
)
from utils.vector_envs.episode_log import EpisodeLog, EpisodeStart
from utils.vector_envs.observation_steps import ObservationOptions, resolve_leaf_steps
from utils.vector_envs.row_writer import RowWriter
from utils.vector_envs.spaces import check_action_space, combine_spaces, flatten_leaves
from utils.vector_envs.step_arrays import StepArrays


class InProcessVectorEnv(BaseVectorEnv):
    """Steps its environments in one Python loop and writes straight into prepared arrays.

    Two sets of arrays take turns, so what `step` returns is overwritten by the step after the
    next. Its state can be saved and restored: an episode is rebuilt by replaying its actions.
    """

    vectorization_name = "sync"
    can_restore_state = True

    def __init__(
        self,
        env_factories: Sequence[Callable[[], gym.Env]],
        *,
        env_id: str,
        options: ObservationOptions | None = None,
        timeout_sets_terminated: bool = False,
        first_index: int = 0,
    ) -> None:
        """Build all environments.

        Args:
            env_factories: Builds one environment each.
            env_id: Named in errors.
            options: What is done to observations; nothing by default.
            timeout_sets_terminated: The environments report a time-out as both terminated and
                truncated, so a step that is both is a truncation.
            first_index: Index of the first environment in errors, where these are a part of more.

        Raises:
            ConfigError: A space is not supported, or an observation option does not fit it.
        """
        self.envs: list[gym.Env] = []
        try:
            self.envs.extend(factory() for factory in env_factories)
            self._set_up(env_id, options or ObservationOptions())
        except BaseException:
            self.close()
            raise
        self._first_index = first_index
        self._timeout_sets_terminated = timeout_sets_terminated

    def _set_up(self, env_id: str, options: ObservationOptions) -> None:
        first, n_envs = self.envs[0], len(self.envs)
        check_action_space(first.action_space, env_id=env_id)
        leaves = flatten_leaves(first.observation_space, env_id=env_id)
        self.leaf_steps = resolve_leaf_steps(leaves, options, env_id=env_id)
        self._describe(
            read_facts(first, env_id=env_id),
            n_envs=n_envs,
            observation_space=combine_spaces(
                {steps.leaf.key: steps.space for steps in self.leaf_steps}
            ),
            action_space=first.action_space,
            metadata=dict(first.metadata),
        )
        self._step_functions = [env.step for env in self.envs]
        self._cores = [env.unwrapped for env in self.envs]
        self._reward_sources = [find_reward_source(env) for env in self.envs]
        self._termination_sources = [find_termination_source(env) for env in self.envs]
        self._has_sources = self.facts.reports_raw_reward or self.facts.reports_episode_over
        is_plain = (
            len(leaves) == 1
            and not leaves[0].path
            and self.leaf_steps[0].convert is None
            and self.leaf_steps[0].frame_stack == 1
        )
        self._writer = None if is_plain else RowWriter(self.leaf_steps, n_envs)
        self._log = EpisodeLog(self._action_shape[1:], self._action_dtype, n_envs)
        self._env_infos: list[dict[str, Any]] = [{} for _ in self.envs]
        self._n_steps = 0
        self._is_started = False
        self._turn = 0
        self._arrays: tuple[StepArrays, StepArrays]
        self.use_arrays(*(StepArrays.allocate(self.leaf_steps, n_envs) for _ in range(2)))

    def use_arrays(self, even: StepArrays, odd: StepArrays) -> None:
        """Write into these two sets of arrays in turn, beginning with `odd` at the next call."""
        self._arrays = (even, odd)
        self._turn = 0

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments.

        Args:
            seed: Environment i gets seed + i; the action spaces are seeded with it too. None goes
                on with the generators as they are.
            options: Passed to each environment.

        Returns:
            The observation (N, ...) and infos.

        Raises:
            EnvironmentFailedError: An environment raised or returned another shape.
        """
        if seed is not None:
            self._seed_action_spaces(seed)
        arrays, rows = self._next_arrays()
        for i in range(self.num_envs):
            start = self._episode_start(i, None if seed is None else seed + i, options)
            self._reset_env(i, rows, start, check_shape=True)
        for column in (arrays.rewards, arrays.raw_rewards):
            column.fill(0.0)
        for column in (arrays.terminated, arrays.truncated, arrays.episode_over):
            column.fill(False)
        self._is_started = True
        return self._assemble(arrays.observations), self._build_infos(arrays, has_done=False)

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments; those that end begin a new episode in the same call.

        Args:
            actions: (N, ...) values of the action space.

        Returns:
            Observation (N, ...), reward (N,) float64, terminated (N,) bool, truncated (N,) bool,
            infos. The arrays stay valid until the next call has returned.

        Raises:
            EnvironmentFailedError: An environment raised; it is named.
        """
        row = self._log.append(self._check_actions(actions))
        arrays, has_done = self.step_into_arrays(row)
        return (
            self._assemble(arrays.observations),
            arrays.rewards,
            arrays.terminated,
            arrays.truncated,
            self._build_infos(arrays, has_done=has_done),
        )

    def step_into_arrays(self, actions: np.ndarray) -> tuple[StepArrays, bool]:
        """Step all environments with a logged row of actions; say whether any episode ended."""
        arrays, rows = self._next_arrays()
        rewards, infos, has_sources = arrays.rewards, self._env_infos, self._has_sources
        arrays.terminated.fill(False)
        arrays.truncated.fill(False)
        self._n_steps += 1
        has_done = False
        i = 0
        try:
            for i, (step, action) in enumerate(zip(self._step_functions, actions, strict=True)):
                rows[i], rewards[i], terminated, truncated, infos[i] = step(action)
                if has_sources:
                    self._read_sources(i, arrays, is_done=terminated or truncated)
                if terminated or truncated:
                    has_done = True
                    self._end_episode(i, arrays, rows, terminated, truncated)
        except EnvironmentFailedError:
            raise
        except Exception as error:
            raise self._failed(error, i, f"in step {self._n_steps}") from error
        return arrays, has_done

    def _next_arrays(self) -> tuple[StepArrays, Any]:
        """Take turns; return the arrays and what `rows[i] = observation` writes to."""
        self._turn ^= 1
        arrays = self._arrays[self._turn]
        if self._writer is None:
            return arrays, arrays.observations[0]
        self._writer.targets = arrays.observations
        return arrays, self._writer

    def _end_episode(
        self, i: int, arrays: StepArrays, rows: Any, terminated: bool, truncated: bool
    ) -> None:
        """Keep the final observation and reset environment `i`."""
        if terminated and truncated:
            terminated, truncated = (
                not self._timeout_sets_terminated,
                self._timeout_sets_terminated,
            )
        arrays.terminated[i], arrays.truncated[i] = terminated, truncated
        for final, current in zip(arrays.final_observations, arrays.observations, strict=True):
            final[i] = current[i]
        if self.facts.reports_episode_over and not arrays.episode_over[i]:
            self._log.note_soft_reset(i)
            self._reset_env(i, rows, None)
        else:
            self._reset_env(i, rows, self._episode_start(i, None, None))

    def _read_sources(self, i: int, arrays: StepArrays, *, is_done: bool) -> None:
        """Read the true reward and end from the wrappers that change them for the learner."""
        source = self._reward_sources[i]
        arrays.raw_rewards[i] = arrays.rewards[i] if source is None else source.raw_reward
        source = self._termination_sources[i]
        arrays.episode_over[i] = is_done if source is None else source.episode_over

    def _episode_start(
        self, i: int, seed: int | None, options: dict[str, Any] | None
    ) -> EpisodeStart:
        if seed is not None:
            return EpisodeStart(seed=seed, options=options)
        return EpisodeStart(generator=self._cores[i].np_random.bit_generator.state, options=options)

    def _reset_env(
        self, i: int, rows: Any, start: EpisodeStart | None, *, check_shape: bool = False
    ) -> None:
        """Reset environment `i` and write its row; without `start` the true episode goes on."""
        seed, options = (None, None) if start is None else (start.seed, start.options)
        if start is not None:
            self._log.begin(i, start)
        if seed is not None:
            self.envs[i].action_space.seed(seed)
        try:
            observation, self._env_infos[i] = self.envs[i].reset(seed=seed, options=options)
            if check_shape:
                self._check_observation(i, observation)
            if self._writer is None:
                rows[i] = observation
            else:
                rows.write_first(i, observation)
        except EnvironmentFailedError:
            raise
        except Exception as error:
            raise self._failed(error, i, f"in reset after step {self._n_steps}") from error

    def _check_observation(self, i: int, observation: Any) -> None:
        """Refuse an observation whose shape would be broadcast in silence."""
        for steps in self.leaf_steps:
            shape = np.shape(steps.leaf.read(observation))
            if shape != steps.leaf.space.shape:
                place = f" '{steps.leaf.key}'" if steps.leaf.key else ""
                raise EnvironmentFailedError(
                    f"environment {self._first_index + i} ({self.env_id}) returned an observation"
                    f"{place} of shape {shape}, its space says {steps.leaf.space.shape}"
                )

    def _failed(self, error: Exception, i: int, when: str) -> EnvironmentFailedError:
        return environment_failed(
            error, env_index=self._first_index + i, env_id=self.env_id, when=when
        )

    @property
    def env_infos(self) -> list[dict[str, Any]]:
        """Each environment's own info dict of its latest step or reset."""
        return self._env_infos

    @override
    def render(self) -> tuple[Any, ...]:
        """Return one frame of each environment."""
        return tuple(env.render() for env in self.envs)

    @override
    def close_extras(self, **kwargs: Any) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()
