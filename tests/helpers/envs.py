"""Small environments whose every number is known in advance.

All of them are defined at module level, so worker processes can import them; `register_all` puts
them in Gymnasium's registry (also by `tests.helpers.envs:Counting-v0`).
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class CountingEnv(gym.Env):
    """The observation is the number of steps since the reset; the reward is 1.

    Args:
        length: Step at which an episode ends.
        ending: "terminated", "truncated" or "both".
        growth: Later episodes of this instance are longer by this much each.
    """

    metadata = {"render_modes": [], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        length: int = 5,
        ending: str = "terminated",
        growth: int = 0,
        render_mode: str | None = None,
    ) -> None:
        self.observation_space = spaces.Box(0, np.inf, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.length, self.ending, self.growth = length, ending, growth
        self.render_mode = render_mode
        self.episode, self.count = -1, 0

    def observe(self) -> Any:
        return np.array([self.count], np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.episode += 1
        self.count = 0
        return self.observe(), {}

    def step(self, action: Any):
        self.count += 1
        is_end = self.count >= self.length + self.growth * self.episode
        terminated = is_end and self.ending in ("terminated", "both")
        truncated = is_end and self.ending in ("truncated", "both")
        return self.observe(), 1.0, terminated, truncated, {}


class MutatingEnv(CountingEnv):
    """Returns the same array at each step and changes it in place."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.buffer = np.zeros(1, np.float32)

    def observe(self) -> Any:
        self.buffer[0] = self.count
        return self.buffer


class IdentityEnv(gym.Env):
    """Pays 1 for the action that equals the observation; episodes of 10 steps.

    Args:
        start: First action of the Discrete action space.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, n: int = 3, start: int = 0, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Discrete(n)
        self.action_space = spaces.Discrete(n, start=start)
        self.render_mode = render_mode
        self.seen_actions: list[int] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.count = 0
        self.state = int(self.np_random.integers(self.observation_space.n))
        return self.state, {}

    def step(self, action: Any):
        assert self.action_space.contains(action), action
        self.seen_actions.append(int(action))
        reward = float(int(action) - int(self.action_space.start) == self.state)
        self.count += 1
        self.state = int(self.np_random.integers(self.observation_space.n))
        return self.state, reward, self.count >= 10, False, {}


class DrawingEnv(CountingEnv):
    """Draws its episode and step: red is 40 * episode, green is 20 * step, blue 0.

    Args:
        height: Height in pixels.
        width: Width in pixels.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}  # noqa: RUF012

    def __init__(self, height: int = 35, width: int = 47, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size = (height, width)

    def render(self) -> np.ndarray:
        frame = np.zeros((*self.size, 3), np.uint8)
        frame[..., 0] = min(40 * self.episode, 255)
        frame[..., 1] = min(20 * self.count, 255)
        return frame


class PictureEnv(CountingEnv):
    """The observation is a picture filled with the step number plus `first`.

    Args:
        shape: Shape of the uint8 observation.
        first: Value of the picture of a reset.
    """

    def __init__(self, shape: tuple[int, ...] = (40, 60, 3), first: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.observation_space = spaces.Box(0, 255, tuple(shape), np.uint8)
        self.first = first

    def observe(self) -> Any:
        return np.full(self.observation_space.shape, self.count + self.first, np.uint8)


class SpaceEnv(CountingEnv):
    """Observes a fixed value of any space.

    Args:
        space: The observation space.
        value: The value that it observes.
    """

    def __init__(self, space: gym.Space, value: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.observation_space = space
        self.value = value

    def observe(self) -> Any:
        return self.value


class LivesEnv(CountingEnv):
    """Three lives of `life_length` steps each, reward 1 per step, told in `info["lives"]`.

    Args:
        lives: Lives at the start.
        life_length: Steps per life.
    """

    def __init__(self, lives: int = 3, life_length: int = 10, **kwargs: Any) -> None:
        super().__init__(length=lives * life_length, **kwargs)
        self.lives, self.life_length = lives, life_length

    def _info(self) -> dict[str, Any]:
        return {"lives": self.lives - self.count // self.life_length}

    def reset(self, **kwargs: Any):
        return super().reset(**kwargs)[0], self._info()

    def step(self, action: Any):
        return *super().step(action)[:4], self._info()


class RewardListEnv(CountingEnv):
    """Pays a list of rewards, one per step, then ends.

    Args:
        rewards: What it pays.
    """

    def __init__(self, rewards: tuple[float, ...] = (5.0, 5.0, -3.0), **kwargs: Any) -> None:
        super().__init__(length=len(rewards), **kwargs)
        self.rewards = tuple(rewards)

    def step(self, action: Any):
        observation, _, terminated, truncated, info = super().step(action)
        return observation, self.rewards[self.count - 1], terminated, truncated, info


class _FaultyEnv(CountingEnv):
    """Does something bad at one step, or in the reset (step 0), where the seed says so.

    Args:
        at_step: The step.
        at_seed: Only the instance that was reset with this seed; None: each.
    """

    def __init__(
        self, at_step: int = 3, at_seed: int | None = None, length: int = 1000, **kwargs: Any
    ) -> None:
        super().__init__(length=length, **kwargs)
        self.at_step, self.at_seed = at_step, at_seed
        self.seed_given: int | None = None

    def misbehave(self) -> Any:
        raise NotImplementedError

    def _is_due(self) -> bool:
        is_me = self.at_seed is None or self.at_seed == self.seed_given
        return is_me and self.count == self.at_step

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        if seed is not None:
            self.seed_given = seed
        result = super().reset(seed=seed, options=options)
        if self._is_due():
            self.misbehave()
        return result

    def step(self, action: Any):
        observation, reward, terminated, truncated, info = super().step(action)
        if self._is_due():
            reward = self.misbehave()
        return observation, reward, terminated, truncated, info


class RaisingEnv(_FaultyEnv):
    """Raises a ValueError."""

    def misbehave(self) -> Any:
        raise ValueError("the wheel came off")


class DyingEnv(_FaultyEnv):
    """Ends its process with exit code 9, or by the given signal.

    Args:
        by_signal: Signal number, or None to leave with code 9.
    """

    def __init__(self, by_signal: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.by_signal = by_signal

    def misbehave(self) -> Any:
        if self.by_signal is None:
            os._exit(9)
        if self.by_signal != signal.SIGKILL:  # the process may be a copy of one that handles it
            signal.signal(self.by_signal, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [self.by_signal])
        os.kill(os.getpid(), self.by_signal)


class HangingEnv(_FaultyEnv):
    """Sleeps for a minute."""

    def misbehave(self) -> Any:
        time.sleep(60)
        return 0.0


class NaNEnv(_FaultyEnv):
    """Pays NaN."""

    def misbehave(self) -> Any:
        return float("nan")


class CarryOverEnv(CountingEnv):
    """Observes how many episodes this instance has played: it cannot be rebuilt by replay."""

    def observe(self) -> Any:
        return np.array([100 * self.episode + self.count], np.float32)


IDS = {
    "Counting-v0": CountingEnv,
    "Mutating-v0": MutatingEnv,
    "Identity-v0": IdentityEnv,
    "Drawing-v0": DrawingEnv,
    "Picture-v0": PictureEnv,
    "Space-v0": SpaceEnv,
    "Lives-v0": LivesEnv,
    "RewardList-v0": RewardListEnv,
    "Raising-v0": RaisingEnv,
    "Dying-v0": DyingEnv,
    "Hanging-v0": HangingEnv,
    "NaN-v0": NaNEnv,
    "CarryOver-v0": CarryOverEnv,
}


def register_all() -> None:
    """Register all environments of this module, once."""
    for name, entry in IDS.items():
        if name not in gym.registry:
            gym.register(name, entry_point=f"{__name__}:{entry.__name__}")


register_all()
