"""Environments stepped one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError, EnvironmentFailedError
from utils.vector_envs.action_mask import ACTION_MASK, flatten_mask
from utils.vector_envs.base_vector_env import (
    BaseVectorEnv,
    environment_failed,
    find_memories,
    find_reward_source,
    find_termination_source,
    read_facts,
    takes_ints,
)
from utils.vector_envs.episode_log import EpisodeLog
from utils.vector_envs.episode_metrics import EPISODE_METRICS, EpisodeMetrics
from utils.vector_envs.observation_steps import ObservationOptions, resolve_leaf_steps
from utils.vector_envs.row_writer import RowWriter
from utils.vector_envs.spaces import check_action_space, combine_spaces, flatten_leaves
from utils.vector_envs.step_arrays import StepArrays


class InProcessVectorEnv(BaseVectorEnv):
    """Steps its environments in one Python loop and writes straight into prepared arrays.

    Two sets of arrays take turns, so what `step` returns is overwritten by the step after the
    next. Its state can be saved and restored: an episode is rebuilt by replaying its actions.

    Attributes:
        envs: The environments.
        final_frames: Each environment's picture of the last state before its latest reset inside
            `step`; kept in the render mode "rgb_array" only, where `render` comes too late for it.
    """

    vectorization_name = "sync"

    def __init__(
        self,
        env_factories: Sequence[Callable[[], gym.Env]],
        *,
        env_id: str,
        options: ObservationOptions | None = None,
        timeout_sets_terminated: bool = False,
        action_masks: bool = False,
        first_index: int = 0,
    ) -> None:
        """Build all environments.

        Args:
            env_factories: Builds one environment each.
            env_id: Named in errors.
            options: What is done to observations; nothing by default.
            timeout_sets_terminated: The environments report a time-out as both terminated and
                truncated, so a step that is both is a truncation.
            action_masks: Every environment tells in its info which actions it allows.
            first_index: Index of the first environment in errors, where these are a part of more.

        Raises:
            ConfigError: A space is not supported, or an observation option does not fit it.
        """
        self.envs: list[gym.Env] = []
        try:
            self.envs.extend(factory() for factory in env_factories)
            self._set_up(env_id, options or ObservationOptions(), has_masks=action_masks)
        except BaseException:
            self.close()
            raise
        self._first_index = first_index
        self._timeout_sets_terminated = timeout_sets_terminated

    def _set_up(self, env_id: str, options: ObservationOptions, *, has_masks: bool) -> None:
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
            has_masks=has_masks,
        )
        self._step_functions = [env.step for env in self.envs]
        self._gives_ints = takes_ints(first)
        self._cores = [env.unwrapped for env in self.envs]
        self._reward_sources = [find_reward_source(env) for env in self.envs]
        self._memories = [find_memories(env) for env in self.envs]
        self._termination_sources = [find_termination_source(env) for env in self.envs]
        self._has_sources = self.facts.reports_raw_reward or self.facts.reports_episode_over
        is_plain = (
            len(leaves) == 1
            and not leaves[0].path
            and self.leaf_steps[0].convert is None
            and self.leaf_steps[0].frame_stack == 1
        )
        self._writer = None if is_plain else RowWriter(self.leaf_steps, n_envs)
        self._log = EpisodeLog(n_envs)
        self._episode_metrics = EpisodeMetrics(n_envs)
        self.final_frames: list[Any] = [None] * n_envs
        self._n_steps = 0
        self._is_started = False
        self._turn = 0
        spaces = [steps.space for steps in self.leaf_steps]
        even, odd = (
            StepArrays.allocate(spaces, n_envs, mask_width=self._mask_width) for _ in range(2)
        )
        self._arrays = (even, odd)

    def use_arrays(self, even: StepArrays, odd: StepArrays) -> None:
        """Write into these two sets of arrays from now on, in turn."""
        self._arrays = (even, odd)

    def set_turn(self, turn: int) -> None:
        """Let the next step, reset or restore write into the even (0) or odd (1) arrays."""
        self._turn = turn ^ 1

    @override
    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        seeds = self._own_seeds(seed)
        if seeds is not None:
            self._seed_action_spaces(seeds[0])
        arrays, rows = self._next_arrays()
        for i in range(self.num_envs):
            start = self._read_start(i, None if seeds is None else seeds[i], options)
            self._begin_episode(i, rows, start)
        arrays.clear_outcomes()
        self._is_started = True
        return self._assemble(arrays.observations), self._build_infos(arrays, has_done=False)

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        actions = self._log.append(self._check_actions(actions))
        arrays, rows = self._next_arrays()
        has_done = self._step_envs(arrays, rows, actions)
        infos = self._build_infos(arrays, has_done=has_done)
        if has_done and (metrics := self._episode_metrics.take_columns()):
            infos[EPISODE_METRICS] = metrics
        return (
            self._assemble(arrays.observations),
            arrays.rewards,
            arrays.terminated,
            arrays.truncated,
            infos,
        )

    def _step_envs(self, arrays: StepArrays, rows: Any, actions: np.ndarray) -> bool:
        """Step all environments; say whether any episode ended."""
        rewards, has_sources, has_masks = arrays.rewards, self._has_sources, self._mask_width > 0
        is_plain = not has_sources and not has_masks
        arrays.terminated.fill(False)
        arrays.truncated.fill(False)
        self._n_steps += 1
        has_done = False
        i = 0
        try:
            given = actions.tolist() if self._gives_ints else actions
            for i, (step, action) in enumerate(zip(self._step_functions, given, strict=True)):
                rows[i], rewards[i], terminated, truncated, info = step(action)
                if is_plain and not terminated and not truncated:
                    continue
                if has_sources:
                    self._read_sources(i, arrays, is_done=terminated or truncated)
                if terminated or truncated:
                    has_done = True
                    self._episode_metrics.take(i, info)
                    if has_masks:
                        self._write_final_mask(i, info)
                    self._end_episode(i, arrays, rows, terminated, truncated)
                elif has_masks:
                    self._write_mask(i, info)
        except (EnvironmentFailedError, ConfigError):
            raise
        except Exception as error:
            raise self._failed(error, i, f"in step {self._n_steps}") from error
        return has_done

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
            truncated = self._timeout_sets_terminated
            terminated = not truncated
        arrays.terminated[i], arrays.truncated[i] = terminated, truncated
        if self.render_mode == "rgb_array":
            self.final_frames[i] = self.envs[i].render()
        for k, current in enumerate(arrays.observations):
            arrays.final_observations[k][i] = current[i]
        is_over = not self.facts.reports_episode_over or arrays.episode_over[i]
        if is_over and self._log.is_start_due(i):
            self._log.begin(i, self._read_start(i, None, None))
        else:
            self._log.note_reset(i)
        self._write_first(i, rows, self._reset_env(i))

    def _read_sources(self, i: int, arrays: StepArrays, *, is_done: bool) -> None:
        """Read the true reward and end from the wrappers that change them for the learner."""
        source = self._reward_sources[i]
        arrays.raw_rewards[i] = arrays.rewards[i] if source is None else source.raw_reward
        source = self._termination_sources[i]
        arrays.episode_over[i] = is_done if source is None else source.episode_over

    def _read_start(
        self, i: int, seed: int | None, options: dict[str, Any] | None
    ) -> dict[str, Any]:
        state = self._read_generator(i) if seed is None else None
        return {"seed": seed, "generator": state, "options": options}

    def _read_generator(self, i: int) -> dict[str, Any] | None:
        """Return the state of environment `i`'s generator, or None where it is not numpy's."""
        generator = self._cores[i].np_random
        if isinstance(generator, np.random.Generator):
            return generator.bit_generator.state
        return None

    def _begin_episode(self, i: int, rows: Any, start: dict[str, Any]) -> None:
        """Begin a new true episode of environment `i` from a start as the log keeps it."""
        self._log.begin(i, start)
        source = self._termination_sources[i]
        if source is not None:
            source.episode_over = True  # whatever it had in mind to go on with is abandoned
        if start["seed"] is not None:
            self.envs[i].action_space.seed(start["seed"])
        elif start["generator"] is not None:
            self._cores[i].np_random.bit_generator.state = start["generator"]
        observation = self._reset_env(i, seed=start["seed"], options=start["options"])
        self._check_shapes(i, observation)
        self._write_first(i, rows, observation)

    def _reset_env(self, i: int, **arguments: Any) -> Any:
        try:
            observation, info = self.envs[i].reset(**arguments)
        except ConfigError:
            raise  # a wrapper or setting that does not fit, seen in the first reset
        except Exception as error:
            raise self._failed(error, i, f"in the reset after step {self._n_steps}") from error
        if self._mask_width:
            self._write_mask(i, info)
        return observation

    def _write_final_mask(self, i: int, info: dict[str, Any]) -> None:
        """Keep which actions the state allowed that an episode of environment `i` ended in."""
        kept = self._arrays[self._turn].final_action_masks
        kept[i] = True
        if ACTION_MASK in info:
            mask = self._read_mask(i, info)
            kept[i] = mask if mask.any() else True  # an end that allows nothing is still valued

    def _write_mask(self, i: int, info: dict[str, Any]) -> None:
        """Keep which actions environment `i` allows now."""
        if ACTION_MASK not in info:
            raise ConfigError(
                f"action_masks: true, but {self.env_id} gives no info['{ACTION_MASK}']: set it to "
                "false, or let the environment (or a wrapper) give one at every reset and step"
            )
        self._arrays[self._turn].action_masks[i] = self._read_mask(i, info)

    def _read_mask(self, i: int, info: dict[str, Any]) -> np.ndarray:
        mask = flatten_mask(info[ACTION_MASK])
        if len(mask) != self._mask_width:
            raise EnvironmentFailedError(
                f"environment {self._first_index + i} ({self.env_id}) gave an action mask of "
                f"{len(mask)} entries, its action space {self.single_action_space} has "
                f"{self._mask_width}"
            )
        return mask

    def _write_first(self, i: int, rows: Any, observation: Any) -> None:
        if self._writer is None:
            rows[i] = observation
        else:
            rows.write_first(i, observation)

    def _check_shapes(self, i: int, observation: Any) -> None:
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

    @override
    def get_state(self) -> dict[str, Any]:
        assert self._is_started, "reset() comes before get_state()"
        return {
            "environments": [self._export_env(i) for i in range(self.num_envs)],
            "n_steps": self._n_steps,
            "generators": self._export_generators(),
        }

    @override
    def set_state(self, state: dict[str, Any]) -> tuple[Any, np.ndarray]:
        self._check_state_size(state)
        arrays, rows = self._next_arrays()
        saved = state["environments"]
        restored = np.array(
            [self._restore_env(i, saved[i], arrays, rows) for i in range(len(saved))]
        )
        for wrappers, own in zip(self._memories, saved, strict=True):
            # A replay has added to what they remember; states of earlier versions hold none.
            for wrapper, memory in zip(wrappers, own.get("memories", ()), strict=False):
                wrapper.set_memory(memory)
        logs = [saved[i]["log"] if restored[i] else self._log.export(i) for i in range(len(saved))]
        self._log.load(logs, np.empty(self._action_shape, self._action_dtype))
        self._load_generators(state["generators"])
        self._n_steps = state["n_steps"]
        self._is_started = True
        arrays.clear_outcomes()
        for i in range(self.num_envs):
            arrays.rewards[i] = saved[i]["reward"]
        return self._assemble(arrays.observations), restored

    def _export_env(self, i: int) -> dict[str, Any]:
        arrays = self._arrays[self._turn]
        return {
            "log": self._log.export(i),
            "observation": [array[i].copy() for array in arrays.observations],
            "reward": float(arrays.rewards[i]),
            "generator": self._read_generator(i),
            "memories": [wrapper.get_memory() for wrapper in self._memories[i]],
        }

    def _restore_env(self, i: int, saved: dict[str, Any], arrays: StepArrays, rows: Any) -> bool:
        """Replay environment `i`; where that leads elsewhere, begin a new episode."""
        start = saved["log"]["start"]
        is_known = start["seed"] is not None or start["generator"] is not None
        if (
            is_known
            and saved["log"]["is_whole"]
            and self._replay(i, saved, rows)
            and _is_equal([array[i] for array in arrays.observations], saved["observation"])
            and _is_equal(self._read_generator(i), saved["generator"])
        ):
            return True
        # Another stretch of the same stream, so that a resumed run repeats nothing.
        fresh = {"seed": None, "generator": saved["generator"], "options": None}
        self._begin_episode(i, rows, fresh)
        return False

    def _replay(self, i: int, saved: dict[str, Any], rows: Any) -> bool:
        """Play a saved log; stop and say False where an episode ends at another step."""
        log = saved["log"]
        self._begin_episode(i, rows, log["start"])
        resets = set(log["resets"])
        reward = saved["reward"]
        given = log["actions"].tolist() if self._gives_ints else log["actions"]
        for count, action in enumerate(given, start=1):
            try:
                rows[i], reward, terminated, truncated, info = self._step_functions[i](action)
            except Exception as error:
                raise self._failed(error, i, f"in step {count} of a replay") from error
            is_done = bool(terminated or truncated)
            if is_done != (count in resets):
                return False
            if is_done:
                self._write_first(i, rows, self._reset_env(i))
            elif self._mask_width:
                self._write_mask(i, info)
        return bool(self._memories[i]) or _is_equal(float(reward), saved["reward"])

    @override
    def render(self) -> tuple[Any, ...]:
        """Return one frame of each environment."""
        return tuple(env.render() for env in self.envs)

    @override
    def close_extras(self, **kwargs: Any) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()


def _is_equal(left: Any, right: Any) -> bool:
    """Compare plain containers, numbers and arrays bit for bit."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_is_equal(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    if isinstance(left, np.ndarray | np.generic | float):
        left, right = np.asarray(left), np.asarray(right)
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return left == right
