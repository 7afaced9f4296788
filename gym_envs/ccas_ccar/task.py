"""What the circuit is and what is asked of it: rates, target curves, units."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np

ENV_ID = "CcasCcar-v0"
STEP_MINUTES = 5.0
MAX_EPISODE_STEPS = 288
"""24 hours."""
MAX_REACTIONS = 10_000
"""Of one control step; the rest of the step passes without any, as a guard."""
LEVEL_SCALE = 80.0
"""Molecules of F that an observation shows as 1."""
CONSTANT_LEVEL = 25.0
TARGETS = ("constant", "sine")
RENDER_FPS = 30

_SINE_MEAN, _SINE_AMPLITUDE, _SINE_PERIOD_MINUTES = 30.0, 20.0, 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Kinetics:
    """Rates of the five reactions, per minute, of "Control of a Bi-Stable Genetic System via
    Parallelized Reinforcement Learning" (CDC 2025).

    H is made at `h_production` under green light; F at `f_production / 2` times each of two Hill
    functions x^n / (k^n + x^n), of H and of F itself; each molecule of either is lost at
    `dilution`.
    """  # noqa: D205 - the title is one sentence

    h_production: float = 1.0
    dilution: float = 0.01
    f_production: float = 1.0
    h_half: float = 90.0
    """Molecules of H at which its Hill function is 1/2."""
    h_exponent: float = 3.6
    f_half: float = 30.0
    """Molecules of F at which its Hill function is 1/2."""
    f_exponent: float = 3.6

    def as_row(self) -> np.ndarray:
        """Return the seven numbers in the order of the kernel, (7,) float64."""
        return np.array(
            [
                self.h_production,
                self.dilution,
                self.f_production,
                self.h_half,
                self.h_exponent,
                self.f_half,
                self.f_exponent,
            ]
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What the level of F should be, and how well the cell is known.

    Attributes:
        target: "constant" (25 molecules) or "sine" (30 + 20 sin(2 pi t / 600 min)).
        n_horizon: How many steps ahead the target is shown, besides the present one.
        kinetics_sigma: Deviation of the logarithm of each of the seven kinetic parameters over
            episodes; 0 makes every cell the same.
    """

    target: str = "constant"
    n_horizon: int = 1
    kinetics_sigma: float = 0.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: One is not among what there is; it is named.
        """
        if self.target not in TARGETS:
            raise ValueError(f"target must be {' or '.join(TARGETS)}, got {self.target!r}")
        n = self.n_horizon
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
            raise ValueError(f"n_horizon must be a whole number >= 0, got {n!r}")
        sigma = self.kinetics_sigma
        is_number = isinstance(sigma, int | float | np.number) and not isinstance(sigma, bool)
        if not is_number or not 0.0 <= sigma <= 1.0:
            raise ValueError(f"kinetics_sigma must be a number from 0 to 1, got {sigma!r}")

    @property
    def n_observation(self) -> int:
        """Numbers of one observation: the level of F, the target now and `n_horizon` later ones."""
        return 2 + self.n_horizon

    @property
    def period_steps(self) -> int:
        """Control steps after which the target repeats."""
        return 1 if self.target == "constant" else round(_SINE_PERIOD_MINUTES / STEP_MINUTES)

    def target_at(self, step: np.ndarray | int) -> np.ndarray:
        """Return the target at the start of control steps, in molecules, float64."""
        minutes = STEP_MINUTES * np.asarray(step, dtype=np.float64)
        if self.target == "constant":
            return np.full_like(minutes, CONSTANT_LEVEL)
        phase = 2.0 * np.pi * minutes / _SINE_PERIOD_MINUTES
        return _SINE_MEAN + _SINE_AMPLITUDE * np.sin(phase)

    def observation_space(self, frame_stack: int = 1) -> gym.spaces.Box:
        """Return the space of `frame_stack` observations in a row; levels have no upper bound."""
        return gym.spaces.Box(0.0, np.inf, (frame_stack * self.n_observation,), np.float32)
