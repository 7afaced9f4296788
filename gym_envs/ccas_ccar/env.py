"""One cell behind Gymnasium's interface, with pictures."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from typing_extensions import override

from gym_envs.ccas_ccar.task import RENDER_FPS, Task

_EVERY = np.ones(1, dtype=np.bool_)


class CcasCcarEnv(gym.Env):
    """One cell with the CcaS-CcaR circuit, simulated by the kernel of the vector environment.

    The observation is F / 80, then the target now and `n_horizon` steps ahead in the same unit;
    H, and the light, stay hidden. The action is the light of the next five minutes, 0 red or 1
    green, the reward minus the distance of F from the target at the step's start. `info` holds `F`,
    `H`, `target` (of the step), and `episode_metrics` with the `mean_absolute_error` so far.

    Each episode takes two words from `np_random`, which decide it together with the actions.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": RENDER_FPS}

    def __init__(
        self,
        *,
        target: str = "constant",
        n_horizon: int = 1,
        kinetics_sigma: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        """Build the cell.

        Args:
            target: As of `Task`.
            n_horizon: As of `Task`.
            kinetics_sigma: As of `Task`.
            render_mode: "rgb_array" or None.

        Raises:
            ValueError: An argument is not among what there is.
        """
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', got {render_mode!r}")
        self.task = Task(target=target, n_horizon=n_horizon, kinetics_sigma=kinetics_sigma)
        self.render_mode = render_mode
        self.observation_space = self.task.observation_space()
        self.action_space = gym.spaces.Discrete(2)
        from gym_envs.ccas_ccar.cells import Cells

        self.cells = Cells(self.task, 1)
        self._trace: list[tuple[int, int, int]] = []
        self._picture_seed = 0
        self._painter: Any = None

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a day with an empty cell; return the observation and the info."""
        super().reset(seed=seed)
        self.cells.random[:, 0] = self.np_random.integers(2**32, size=2, dtype=np.uint32)
        self.cells.begin(_EVERY)
        self.cells.show_state()
        self._picture_seed = int(self.cells.random[1, 0])
        self._trace = [(0, 0, 0)]
        return self.cells.outputs.observation[0].copy(), self._info()

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let five minutes pass in red (0) or green (1) light."""
        assert self._trace, "reset() comes before step()"
        assert self.action_space.contains(int(action)), action
        self.cells.light[0] = action
        self.cells.step()
        outputs = self.cells.outputs
        h, f = (int(level) for level in outputs.level[:, 0])
        if self.render_mode is not None:
            self._trace.append((h, f, int(action)))
        info = self._info()
        info["episode_metrics"] = {"mean_absolute_error": float(outputs.mean_error[0])}
        return outputs.observation[0].copy(), float(outputs.reward[0]), False, False, info

    def _info(self) -> dict[str, Any]:
        outputs = self.cells.outputs
        return {
            "H": int(outputs.level[0, 0]),
            "F": int(outputs.level[1, 0]),
            "target": float(outputs.target[0]),
        }

    @override
    def render(self) -> np.ndarray | None:
        """Return a picture of cells, light and levels, (480, 720, 3) uint8."""
        if self.render_mode is None:
            return None
        assert self._trace, "reset() comes before render()"
        if self._painter is None:
            from gym_envs.ccas_ccar.painter import Painter

            self._painter = Painter(self.task)
        return self._painter.draw(self._trace, seed=self._picture_seed)
