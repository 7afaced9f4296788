"""Environments stepped by worker processes, results in shared memory."""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import EnvironmentFailedError
from utils.vector_envs.base_vector_env import BaseVectorEnv
from utils.vector_envs.episode_metrics import EPISODE_METRICS, join_columns
from utils.vector_envs.observation_steps import ObservationOptions
from utils.vector_envs.step_arrays import SharedLayout, StepArrays
from utils.vector_envs.worker import SOME_DONE, STEP, WorkerTask
from utils.vector_envs.worker_pool import WorkerPool


class SubprocessVectorEnv(BaseVectorEnv):
    """Splits its environments among worker processes; each steps its part in one loop.

    Workers run the code of InProcessVectorEnv, so both give the same numbers. They ignore
    Ctrl-C, SIGTERM and SIGHUP, end when this process dies in whatever way, and are gone after any
    error.
    """

    vectorization_name = "async"

    def __init__(
        self,
        env_factories: Sequence[Callable[[], gym.Env]],
        *,
        env_id: str,
        options: ObservationOptions | None = None,
        timeout_sets_terminated: bool = False,
        action_masks: bool = False,
        n_workers: int | None = None,
        start_method: str = "spawn",
        env_timeout_seconds: float = 60.0,
    ) -> None:
        """Start the workers and wait until they have built their environments.

        Args:
            env_factories: Builds one environment each; picklable.
            env_id: Named in errors.
            options: What is done to observations; nothing by default.
            timeout_sets_terminated: A step that is terminated and truncated is a truncation.
            action_masks: Every environment tells in its info which actions it allows.
            n_workers: Number of processes; None takes one per core, at most one per environment.
            start_method: "spawn", "forkserver" or "fork".
            env_timeout_seconds: Longest time that one reset or step may take. A restore gets as
                much, and more for every step that it has to replay.

        Raises:
            ConfigError: A factory cannot be sent to a process, or an environment not be built.
            EnvironmentFailedError: A worker died or did not answer in time.
        """
        n_envs = len(env_factories)
        n_workers = min(n_workers or _count_cores(), n_envs)
        bounds = np.linspace(0, n_envs, n_workers + 1).astype(int).tolist()
        self._chunks = [slice(a, b) for a, b in pairwise(bounds)]
        tasks = [
            WorkerTask(
                env_factories=tuple(env_factories[chunk]),
                env_id=env_id,
                options=options or ObservationOptions(),
                timeout_sets_terminated=timeout_sets_terminated,
                action_masks=action_masks,
                first_index=chunk.start,
            )
            for chunk in self._chunks
        ]
        self._pool = WorkerPool(
            tasks, start_method=start_method, timeout_seconds=env_timeout_seconds
        )
        try:
            self._set_up(n_envs, has_masks=action_masks)
        except BaseException:
            self.close()
            raise

    def _set_up(self, n_envs: int, *, has_masks: bool) -> None:
        description = self._pool.receive_descriptions()[0]
        self._describe(
            description["facts"],
            n_envs=n_envs,
            observation_space=description["observation_space"],
            action_space=description["action_space"],
            metadata=description["metadata"],
            has_masks=has_masks,
        )
        layout = SharedLayout(
            spaces=description["leaf_spaces"],
            n_envs=n_envs,
            action_shape=self._action_shape,
            action_dtype=self._action_dtype,
            mask_width=self._mask_width,
        )
        with _SharedFile(layout.size()) as file:
            shared = {"path": str(file.path), "layout": layout}
            self._pool.call_each("attach", [{**shared, "chunk": chunk} for chunk in self._chunks])
            even, odd, self._actions = layout.map(file.block)
        self._arrays = (even, odd)
        self._turn = 0
        self._is_started = False
        self._is_stepping = False

    @override
    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        seeds = self._own_seeds(seed)
        if seeds is not None:
            self._seed_action_spaces(seeds[0])
        arrays = self._next_arrays()
        self._call_each(
            "reset",
            [
                {
                    "turn": self._turn,
                    "seed": None if seeds is None else seeds[chunk],
                    "options": options,
                }
                for chunk in self._chunks
            ],
        )
        self._is_started = True
        return self._assemble(arrays.observations), self._build_infos(arrays, has_done=False)

    @override
    def step(
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self.send(actions)
        return self.recv()

    def send(self, actions: np.ndarray) -> None:
        """Begin a step in all workers; `recv` ends it.

        Args:
            actions: (N, ...) values of the action space. The caller may write to them afterwards.

        Raises:
            EnvironmentFailedError: A worker process died or hangs, or all have been closed.
        """
        self._refuse_if_closed()
        self._actions[...] = self._check_actions(actions)
        self._pool.send(STEP + bytes([self._turn ^ 1]))
        self._is_stepping = True

    def recv(self) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Wait for the step that `send` began; return what `step` returns.

        Raises:
            EnvironmentFailedError: An environment raised, or a worker process died or hangs.
        """
        self._refuse_if_closed()
        assert self._is_stepping, "send() comes before recv()"
        self._is_stepping = False
        answers = self._pool.receive()
        arrays = self._next_arrays()
        has_done = any(answer[:1] == SOME_DONE for answer in answers)
        infos = self._build_infos(arrays, has_done=has_done)
        if has_done and (metrics := self._read_metrics(answers)):
            infos[EPISODE_METRICS] = metrics
        return (
            self._assemble(arrays.observations),
            arrays.rewards,
            arrays.terminated,
            arrays.truncated,
            infos,
        )

    def _read_metrics(self, answers: list[bytes]) -> dict[str, np.ndarray]:
        parts = (
            (chunk, pickle.loads(answer[1:]))
            for chunk, answer in zip(self._chunks, answers, strict=True)
            if len(answer) > 1
        )
        return join_columns(parts, self.num_envs)

    @override
    def get_state(self) -> dict[str, Any]:
        assert self._is_started, "reset() comes before get_state()"
        parts = self._call_each("get_state")
        return {
            "environments": [env for part in parts for env in part["environments"]],
            "n_steps": parts[0]["n_steps"],
            "generators": self._export_generators(),
        }

    @override
    def set_state(self, state: dict[str, Any]) -> tuple[Any, np.ndarray]:
        self._check_state_size(state)
        arrays = self._next_arrays()
        parts = [state["environments"][chunk] for chunk in self._chunks]
        restored = self._call_each(
            "set_state",
            [{"turn": self._turn, "state": {**state, "environments": part}} for part in parts],
            n_replayed=max(sum(len(env["log"]["actions"]) for env in part) for part in parts),
        )
        self._load_generators(state["generators"])
        self._is_started = True
        return self._assemble(arrays.observations), np.concatenate(restored)

    @override
    def render(self) -> tuple[Any, ...]:
        """Return one frame of each environment."""
        return tuple(frame for part in self._call_each("render") for frame in part)

    @property
    def final_frames(self) -> list[Any]:
        """Each environment's last picture before its latest reset; see `InProcessVectorEnv`."""
        return [frame for part in self._call_each("read_final_frames") for frame in part]

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers; empty once they are gone."""
        return self._pool.pids

    @override
    def close_extras(self, **kwargs: Any) -> None:
        """End all workers."""
        self._pool.close()

    def _next_arrays(self) -> StepArrays:
        self._turn ^= 1
        return self._arrays[self._turn]

    def _call_each(
        self, name: str, arguments: list[dict[str, Any]] | None = None, *, n_replayed: int = 0
    ) -> list[Any]:
        self._refuse_if_closed()
        self._is_stepping = False  # the answers to a step that is under way are dropped
        arguments = arguments or [{}] * len(self._chunks)
        return self._pool.call_each(name, arguments, n_replayed=n_replayed)

    def _refuse_if_closed(self) -> None:
        if not len(self._pool):
            raise EnvironmentFailedError(
                f"the worker processes of {self.env_id} have ended (after an earlier error or "
                "close())"
            )


class _SharedFile:
    """A file that all processes map and that has no name once they have."""

    def __init__(self, size: int) -> None:
        memory = Path("/dev/shm")
        has_room = memory.is_dir() and shutil.disk_usage(memory).free > 2 * size
        descriptor, name = tempfile.mkstemp(
            prefix="environments-", dir=memory if has_room else None
        )
        self.path = Path(name)
        os.ftruncate(descriptor, size)
        self.block = mmap.mmap(descriptor, size)
        os.close(descriptor)

    def __enter__(self) -> _SharedFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.path.unlink()


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
