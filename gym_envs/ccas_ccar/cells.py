"""The memory of many cells, and the compiled calls that work on it."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from gym_envs.ccas_ccar import kernel
from gym_envs.ccas_ccar.task import Kinetics, Task

NO_LIMIT = 2**31 - 1
"""Steps of an episode that nothing truncates."""


class Outputs:
    """What one step gives; two of them take turns, so that one step's are still there at the next.

    Attributes:
        observation: (N, frame_stack * n_observation) float32; of the new episode where one ended.
        final_observation: Likewise, what the step led to; only where an episode ended.
        reward: (N,) float64.
        truncated: (N,) bool.
        level: (2, N) int64, H and F that the step led to, before any reset.
        target: (N,) float64, what F was compared with, in molecules.
        mean_error: (N,) float64, mean of |F - target| over the episode so far.
    """

    def __init__(self, task: Task, n_cells: int, frame_stack: int) -> None:
        """Allocate all of them."""
        width = frame_stack * task.n_observation
        self.observation = np.zeros((n_cells, width), np.float32)
        self.final_observation = np.zeros((n_cells, width), np.float32)
        self.reward = np.zeros(n_cells)
        self.truncated = np.zeros(n_cells, np.bool_)
        self.level = np.zeros((2, n_cells), np.int64)
        self.target = np.zeros(n_cells)
        self.mean_error = np.zeros(n_cells)


class Cells:
    """N cells, each in an episode of its own.

    Attributes:
        light: (N,) int64, what the next step shines on each cell: 0 red, 1 green.
        count: (2, N) int64, molecules of H and F.
        length: (N,) int32, steps of the episode so far.
        error: (N,) float64, sum of |F - target| over them.
        kinetics: (N, 7) float64, in the order of `Kinetics`, with the logarithms of both
            half-levels.
        random: (2, N) uint32, counter and key of each cell's random words.
        outputs: What the latest step or reset gave.
    """

    SAVED = ("light", "count", "length", "error", "kinetics", "random")

    def __init__(
        self,
        task: Task,
        n_cells: int,
        *,
        max_episode_steps: int = NO_LIMIT,
        frame_stack: int = 1,
        n_threads: int = 1,
    ) -> None:
        """Allocate the arrays; see `CcasCcarVectorEnv` for the arguments."""
        self.n_cells, self._n_threads = n_cells, n_threads
        self.light = np.zeros(n_cells, np.int64)
        self.count = np.zeros((2, n_cells), np.int64)
        self.length = np.zeros(n_cells, np.int32)
        self.error = np.zeros(n_cells)
        self.kinetics = np.zeros((n_cells, 7))
        self.random = np.zeros((2, n_cells), np.uint32)
        self._pair = tuple(Outputs(task, n_cells, frame_stack) for _ in range(2))
        self._turn = 0
        self._rules = (
            build_targets(task),
            task.n_horizon,
            np.append(Kinetics().as_row(), float(task.kinetics_sigma)),
        )
        self._tables = build_tables(Kinetics())
        self._max_length = max_episode_steps

    @property
    def outputs(self) -> Outputs:
        """What the latest step or reset gave."""
        return self._pair[self._turn]

    def turn(self) -> Outputs:
        """Take the other set of outputs, with the observation as it is; return it."""
        before = self.outputs.observation
        self._turn ^= 1
        self.outputs.observation[:] = before
        return self.outputs

    def show_state(self) -> None:
        """Make the outputs tell of the state itself, as after a step without reward."""
        outputs, targets = self.outputs, self._rules[0]
        outputs.level[:] = self.count
        outputs.target[:] = targets[self.length % len(targets)]
        outputs.reward.fill(0.0)
        outputs.truncated.fill(False)

    def begin(self, mask: np.ndarray) -> None:
        """Begin a new episode in the cells where the mask (N,) bool is true."""
        kernel.begin_masked(mask, self.outputs.observation, *self._state(), *self._rules)

    def step(self) -> bool:
        """Step all cells in the light that is set; return whether an episode ended."""
        before = self.outputs.observation
        self._turn ^= 1
        outputs = self.outputs
        targets, n_horizon, law = self._rules
        arguments = (
            self.light,
            before,
            outputs.observation,
            outputs.reward,
            outputs.truncated,
            outputs.final_observation,
            outputs.level,
            outputs.target,
            outputs.mean_error,
            *self._state(),
            self._tables,
            targets,
            n_horizon,
            law,
            self._max_length,
        )
        if self._n_threads == 1:
            return kernel.step_cells(*arguments)
        return self._step_with_threads(arguments)

    def _step_with_threads(self, arguments: tuple[Any, ...]) -> bool:
        before = numba.get_num_threads()
        numba.set_num_threads(self._n_threads)
        try:
            return kernel.step_cells_with_threads(self._n_threads, *arguments)
        finally:
            numba.set_num_threads(before)

    def _state(self) -> tuple[np.ndarray, ...]:
        return self.count, self.length, self.error, self.kinetics, self.random


def most_threads() -> int:
    """Return the largest number of threads that numba has."""
    return numba.config.NUMBA_NUM_THREADS


def check_threads(n_threads: int) -> None:
    """Refuse a number of threads that there are not.

    Raises:
        ValueError: It says how many there are.
    """
    most = most_threads()
    if not 1 <= n_threads <= most:
        raise ValueError(
            f"n_threads must be 1 to {most}, got {n_threads}: this machine has {most} cores "
            "(numba's threads)"
        )


def build_targets(task: Task) -> np.ndarray:
    """Return one period of the target at the starts of steps, in molecules, float64."""
    return task.target_at(np.arange(task.period_steps))


def build_tables(kinetics: Kinetics) -> np.ndarray:
    """Return ln n, and the production of F per minute by n molecules of H and of F.

    Returns:
        (3, TABLE_SIZE) float64.
    """
    n = np.arange(kernel.TABLE_SIZE)
    logs = np.concatenate([[-np.inf], np.log(n[1:])])
    by_h = 1.0 / (1.0 + np.exp(kinetics.h_exponent * (np.log(kinetics.h_half) - logs)))
    by_f = 1.0 / (1.0 + np.exp(kinetics.f_exponent * (np.log(kinetics.f_half) - logs)))
    half = 0.5 * kinetics.f_production
    return np.stack([logs, half * by_h, half * by_f])
