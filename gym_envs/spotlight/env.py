"""An actor wanders over a stage; whoever steers the spotlight keeps him in the light.

Small enough that a model of its pictures is learnt in minutes, and of the kind that models are for:
how the actor goes on is partly chance, the last picture does not show where he is going, and a
mistake has no second chance.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

SIDE = 64
"""Pixels of a picture's side."""
STEP = 0.06
"""What the light moves in a step at most, in widths of the stage."""
LOST = 0.4
"""Distance of light and actor at which he is lost in the dark and the show is over."""
_WALK = (0.01, 0.035)
_TURN_PROBABILITY = 0.04
_LIT_WIDTH, _BEAM_WIDTH, _ACTOR_WIDTH = 0.15, 0.3, 0.25
_NIGHT = np.array([18.0, 20.0, 46.0], np.float32)
_BEAM = np.array([200.0, 185.0, 90.0], np.float32)
_ACTOR = np.array([30.0, -150.0, -100.0], np.float32)
_GLOW = np.array([190.0, 45.0, 40.0], np.float32)
_COLUMNS = (np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE
_ACTOR_ROWS = np.exp(-np.square((_COLUMNS - 0.65) / 0.24))


class SpotlightEnv(gym.Env):
    """Steer a beam of light; the episode terminates when the actor is far outside of it.

    Observation: Box (64, 64, 3) uint8, the stage. The beam is a bright column, the actor a red
        figure.
    Action: Box (1,) within -1 to 1, the beam's speed to the left or right.
    Reward: 0 to 1 for each step, exp(-(distance / 0.15)^2) of beam and actor.

    The actor walks at a speed that each episode draws, turns at the walls and now and then by
    himself. The time limit is set by the registration.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(self, *, render_mode: str | None = None) -> None:
        """Describe the spaces; the first episode begins with `reset`.

        Args:
            render_mode: "rgb_array" or None.
        """
        self.observation_space = gym.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.render_mode = render_mode
        self._actor = self._light = 0.5
        self._velocity = 0.0

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._actor = self.np_random.uniform(0.15, 0.85)
        self._light = float(np.clip(self._actor + self.np_random.uniform(-0.15, 0.15), 0.0, 1.0))
        self._velocity = self.np_random.uniform(*_WALK) * self.np_random.choice([-1.0, 1.0])
        return self._picture(), {}

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        moved = STEP * float(np.clip(np.asarray(action).reshape(-1)[0], -1.0, 1.0))
        self._light = min(1.0, max(0.0, self._light + moved))
        if self.np_random.random() < _TURN_PROBABILITY:
            self._velocity = -self._velocity
        if not 0.0 <= self._actor + self._velocity <= 1.0:
            self._velocity = -self._velocity
        self._actor += self._velocity
        distance = abs(self._light - self._actor)
        reward = float(np.exp(-((distance / _LIT_WIDTH) ** 2)))
        return self._picture(), reward, distance > LOST, False, {}

    def _picture(self) -> np.ndarray:
        """Return the stage, (64, 64, 3) uint8; soft edges make small steps visible."""
        beam = np.exp(-np.square((_COLUMNS - self._light) / _BEAM_WIDTH))
        columns = np.exp(-np.square((_COLUMNS - self._actor) / _ACTOR_WIDTH))
        figure = _ACTOR_ROWS[:, None] * columns[None, :]
        picture = _NIGHT + beam[None, :, None] * _BEAM
        picture = picture + figure[:, :, None] * (_GLOW + beam[None, :, None] * (_ACTOR - _GLOW))
        return np.clip(picture, 0.0, 255.0).astype(np.uint8)

    @override
    def render(self) -> np.ndarray | None:
        """Return the stage four times as large, (256, 256, 3) uint8, in the mode "rgb_array"."""
        if self.render_mode is None:
            return None
        return np.kron(self._picture(), np.ones((4, 4, 1), np.uint8))
