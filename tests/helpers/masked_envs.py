"""Environments that allow some actions only, and end an episode with any other."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

ACTIONS: dict[str, spaces.Space] = {
    "discrete": spaces.Discrete(5, start=-2),
    "multi_discrete": spaces.MultiDiscrete([3, 4]),
    "multi_binary": spaces.MultiBinary(4),
}


class MaskedEnv(gym.Env):
    """Each state allows some actions; the observation tells nothing of which.

    A step that was allowed pays 1 for the last allowed choice of each part, else 0. Anything else
    ends the episode and costs 100.

    Args:
        acts: Key of `ACTIONS`.
        length: Steps of an episode, after which it is truncated.
        as_parts: Give a MultiDiscrete's mask as a tuple of arrays.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        acts: str = "discrete",
        length: int = 10,
        as_parts: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.action_space = ACTIONS[acts]
        self.observation_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.length, self.as_parts, self.render_mode = length, as_parts, render_mode
        is_multi = isinstance(self.action_space, spaces.MultiDiscrete)
        self.sizes = list(self.action_space.nvec) if is_multi else None
        self.max_episode_steps = length

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.count = 0
        return self._observe(), self._draw_mask()

    def step(self, action: Any):
        assert self.action_space.contains(action), (action, self.action_space)
        self.count += 1
        is_allowed, reward = self._judge(action)
        info = self._draw_mask()
        return self._observe(), reward, not is_allowed, self.count >= self.length, info

    def _observe(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def _draw_mask(self) -> dict[str, Any]:
        if isinstance(self.action_space, spaces.MultiBinary):
            self.masks = [self.np_random.random(self.action_space.n) < 0.5]
        else:
            sizes = self.sizes or [int(self.action_space.n)]
            self.masks = [self.np_random.random(size) < 0.4 for size in sizes]
            for mask in self.masks:
                mask[self.np_random.integers(len(mask))] = True
        parts = tuple(mask.astype(np.int8) for mask in self.masks)
        is_tuple = self.as_parts and len(parts) > 1
        return {"action_mask": parts if is_tuple else np.concatenate(parts)}

    def _judge(self, action: Any) -> tuple[bool, float]:
        if isinstance(self.action_space, spaces.MultiBinary):
            is_allowed = bool((self.masks[0] | (np.asarray(action) == 0)).all())
            best = bool((np.asarray(action, bool) == self.masks[0]).all())
        else:
            start = getattr(self.action_space, "start", 0)
            chosen = np.atleast_1d(np.asarray(action) - start)
            is_allowed = all(mask[k] for mask, k in zip(self.masks, chosen, strict=True))
            best = all(
                k == np.flatnonzero(mask)[-1] for mask, k in zip(self.masks, chosen, strict=True)
            )
        return is_allowed, float(best) if is_allowed else -100.0


class BlockedEnv(MaskedEnv):
    """Allows nothing at all from its third step on.

    Args:
        tells_end: Whether the last step of an episode has a mask, too.
    """

    def __init__(self, *, tells_end: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tells_end = tells_end

    def step(self, action: Any):
        *outcome, truncated, info = super().step(action)
        return *outcome, truncated, info if self.tells_end or not truncated else {}

    def _draw_mask(self) -> dict[str, Any]:
        info = super()._draw_mask()
        return {"action_mask": info["action_mask"] * int(self.count < 3)}


class GateEnv(gym.Env):
    """One state, of whose two actions the first is allowed; every episode is cut after a step."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = spaces.Discrete(1), spaces.Discrete(2)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        return 0, {"action_mask": np.array([1, 0], np.int8)}

    def step(self, action: Any):
        assert action == 0, action
        return 0, 1.0, False, True, {"action_mask": np.array([1, 0], np.int8)}


gym.register("Masked-v0", entry_point=f"{__name__}:MaskedEnv")
gym.register("Blocked-v0", entry_point=f"{__name__}:BlockedEnv")
gym.register("Gate-v0", entry_point=f"{__name__}:GateEnv")
