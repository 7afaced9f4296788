"""Controllers without learning, to hold a trained policy against: random, bang-bang, PI.

They see what a policy sees, the newest observation, and each holds N cells at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from typing_extensions import override

from gym_envs.ccas_ccar.task import LEVEL_SCALE, STEP_MINUTES


class Controller(ABC):
    """Chooses the light of N cells from what was seen in the running episodes.

    Attributes:
        name: What people call it.
    """

    name: str

    @abstractmethod
    def begin(self, n_cells: int, *, seed: int = 0) -> None:
        """Know nothing of N new episodes.

        Args:
            n_cells: Number of cells N.
            seed: Of whatever it draws.
        """

    @abstractmethod
    def act(self, level: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the light of the next step, (N,) int64: 0 red, 1 green.

        Args:
            level: (N,) float64, molecules of F.
            target: (N,) float64, what they should be, in molecules.
        """


class RandomLight(Controller):
    """Red or green, each as likely."""

    name = "random"

    @override
    def begin(self, n_cells: int, *, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)

    @override
    def act(self, level: np.ndarray, target: np.ndarray) -> np.ndarray:
        return self._generator.integers(2, size=len(level))


class BangBang(Controller):
    """Green while F is below the target."""

    name = "bang-bang"

    @override
    def begin(self, n_cells: int, *, seed: int = 0) -> None:
        pass

    @override
    def act(self, level: np.ndarray, target: np.ndarray) -> np.ndarray:
        return (level < target).astype(np.int64)


@dataclass
class ProportionalIntegral(Controller):
    """A share of green light that follows the error and its integral, as red and green steps.

    share = clip(bias + gain (target - F) + gain / integral_minutes * integral), where the integral
    of the error stands still while the share is at a bound that the error would push it through.
    The share becomes light by error diffusion: what a step shines too much or too little is made
    up for by the next.

    The defaults had the least mean absolute error for the constant target, within sampling error,
    among 8 gains from 0.01 to 0.4, 6 integral times from 200 minutes to none and 7 biases from 0 to
    0.6, over 500 episodes each.

    Attributes:
        gain: Share per molecule.
        integral_minutes: Time in which the integral of a constant error equals the error's part.
        bias: Share without any error.
    """

    gain: float = 0.08
    integral_minutes: float = 1600.0
    bias: float = 0.1
    name: str = field(default="PI", init=False)

    @override
    def begin(self, n_cells: int, *, seed: int = 0) -> None:
        self._integral = np.zeros(n_cells)
        self._owed = np.zeros(n_cells)

    @override
    def act(self, level: np.ndarray, target: np.ndarray) -> np.ndarray:
        error = target - level
        integral = self._integral + STEP_MINUTES * error
        wanted = self.bias + self.gain * (error + integral / self.integral_minutes)
        share = np.clip(wanted, 0.0, 1.0)
        is_stuck = (wanted != share) & ((wanted > share) == (error > 0.0))
        self._integral = np.where(is_stuck, self._integral, integral)
        self._owed += share
        light = self._owed >= 0.5
        self._owed -= light
        return light.astype(np.int64)


def read_observation(observation: np.ndarray, *, n_horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Return level and present target (N,) float64 in molecules from the newest observation.

    Args:
        observation: (N, frame_stack * (2 + n_horizon)) float32.
        n_horizon: As of `Task`.
    """
    newest = observation[:, -(2 + n_horizon) :].astype(np.float64) * LEVEL_SCALE
    return newest[:, 0], newest[:, 1]


BASELINES: tuple[type[Controller], ...] = (RandomLight, BangBang, ProportionalIntegral)
"""All of them, from the least to the most that they do."""
