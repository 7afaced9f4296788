"""One game of an old console as a Gymnasium environment."""

from __future__ import annotations

import difflib
import time
import weakref
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import stable_retro
from typing_extensions import override

from gym_envs.retro.buttons import PadActions
from gym_envs.retro.roms import PREFIX, check_rom
from utils.errors import ConfigError

_FRAMES_PER_SECOND = 60
_EVERYTHING = stable_retro.data.Integrations.ALL
_OBSERVATIONS = {
    "image": stable_retro.Observations.IMAGE,
    "ram": stable_retro.Observations.RAM,
}
_running: list[weakref.ref[RetroEnv]] = []
"""The environment that holds this process's emulator, if any."""


class RetroEnv(gym.Env):
    """A game, played by its pictures or its memory.

    An observation is the screen, (H, W, 3) uint8, or the console's memory, (n,) uint8. The reward
    and the end of an episode are those of stable-retro's scenario, the reward summed over the
    frames of a step. Nothing truncates but a limit set from outside. The emulator is
    deterministic: only sticky actions draw random numbers.

    A process runs one emulator. A second one is refused until the first is closed.

    Attributes:
        frames_per_step: Frames of a step.
        repeat_action_probability: Chance of a frame to repeat the buttons of the one before.
        action_names: What each action presses.
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": _FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        *,
        state: str | None = None,
        scenario: str | None = None,
        obs_type: str = "image",
        frame_skip: int = 4,
        repeat_action_probability: float = 0.25,
        actions: str | Sequence[str] = "console",
        render_mode: str = "rgb_array",
    ) -> None:
        """Start the emulator.

        Args:
            game: stable-retro's name, such as Airstriker-Genesis-v0.
            state: Where episodes begin: one of the game's states; None for its default.
            scenario: What is rewarded and ends an episode; None for the game's default.
            obs_type: "image" or "ram".
            frame_skip: Frames of a step, 60 a second, at least 1.
            repeat_action_probability: Chance of each frame, 0 to 1, that the buttons stay as they
                were in the frame before ("sticky actions").
            actions: "console", "combinations", "multi_binary" or a list; see `PadActions`.
            render_mode: "rgb_array", or "human" (a window).

        Raises:
            ConfigError: An argument cannot be used, or this process runs an emulator already.
            MissingAssetError: The game's ROM is not installed.
        """
        _check_numbers(frame_skip, repeat_action_probability)
        _check_name("obs_type", obs_type, list(_OBSERVATIONS))
        check_rom(PREFIX + game)
        _check_name("state", state, stable_retro.data.list_states(game, _EVERYTHING))
        _check_name("scenario", scenario, stable_retro.data.list_scenarios(game, _EVERYTHING))
        _refuse_second(game)
        self.game = game
        self.render_mode = render_mode
        self.frames_per_step = frame_skip
        self.repeat_action_probability = repeat_action_probability
        self.metadata = {**self.metadata, "render_fps": _FRAMES_PER_SECOND / frame_skip}
        self._core = _start(
            game,
            state=stable_retro.State.DEFAULT if state is None else state,
            scenario=scenario,
            obs_type=_OBSERVATIONS[obs_type],
            render_mode=render_mode,
        )
        _running[:] = [weakref.ref(self)]
        try:
            console = stable_retro.get_system_info(self._core.system)
            self._actions = PadActions(console["buttons"], console["actions"], actions)
        except BaseException:
            self.close()
            raise
        self._is_filtered = actions == "multi_binary"
        self.action_names = self._actions.names
        self.action_space = self._actions.space
        self.observation_space = self._core.observation_space
        self._pressed = np.zeros(self._core.num_buttons, np.uint8)
        self._is_over = True

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._pressed = np.zeros_like(self._pressed)
        self._is_over = False
        return self._core.reset()

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert not self._is_over, "reset() comes before step()"
        core, emulator, data = self._core, self._core.em, self._core.data
        mask = self._mask(action)
        reward, stickiness = 0.0, self.repeat_action_probability
        for _ in range(self.frames_per_step):
            if not stickiness or self.np_random.random() >= stickiness:
                self._pressed = mask
            emulator.set_button_mask(self._pressed, 0)
            emulator.step()
            data.update_ram()
            reward += data.current_reward()
            self._is_over = bool(data.is_done())
            if self._is_over:
                break
        observation = core._update_obs()  # what its step would do every frame
        if self.render_mode == "human":
            core.render()
            time.sleep(self.frames_per_step / _FRAMES_PER_SECOND)
        return observation, reward, self._is_over, False, dict(data.lookup_all())

    @override
    def render(self) -> np.ndarray | None:
        """Return the screen, (H, W, 3) uint8; a window is drawn by `step`."""
        return None if self.render_mode == "human" else self._core.get_screen(apply_rotation=True)

    @override
    def close(self) -> None:
        """End the emulator, so that this process can start another."""
        if hasattr(self, "_core"):
            self._core.close()
            del self._core
        if _running and _running[0]() is self:
            _running.clear()

    def _mask(self, action: Any) -> np.ndarray:
        mask = self._actions.mask(action)
        if not self._is_filtered:
            return mask
        # stable-retro drops what the pad cannot do, such as left and right at once.
        weights = 1 << np.arange(len(mask))
        allowed = self._core.data.filter_action(int(mask @ weights))
        return ((allowed >> np.arange(len(mask))) & 1).astype(np.uint8)


def _start(game: str, **settings: Any) -> stable_retro.RetroEnv:
    """Start the emulator; leave none running where that fails."""
    try:
        return stable_retro.RetroEnv(
            game,
            inttype=_EVERYTHING,
            use_restricted_actions=stable_retro.Actions.ALL,
            **settings,
        )
    except RuntimeError as error:
        if "multiple emulator" not in str(error):
            raise
        raise _second(game, "another") from error


def _refuse_second(game: str) -> None:
    running = _running[0]() if _running else None
    if running is not None:
        raise _second(game, running.game)


def _second(game: str, running: str) -> ConfigError:
    return ConfigError(
        f"{PREFIX}{game}: a process runs one emulator, and this one runs {running} already: close "
        "that environment first, or use vectorization: auto, where each has a process of its own"
    )


def _check_numbers(frame_skip: Any, stickiness: Any) -> None:
    if not isinstance(frame_skip, int) or isinstance(frame_skip, bool) or frame_skip < 1:
        raise ConfigError(
            f"env_kwargs: frame_skip: must be a whole number, at least 1, got {frame_skip!r}"
        )
    if not isinstance(stickiness, int | float) or not 0 <= stickiness < 1:
        raise ConfigError(
            "env_kwargs: repeat_action_probability: must be at least 0 and below 1, got "
            f"{stickiness!r}"
        )


def _check_name(key: str, name: Any, known: Sequence[str]) -> None:
    if name is None or name in known:
        return
    near = difflib.get_close_matches(str(name), known, n=5, cutoff=0.0) or ["none"]
    raise ConfigError(f"env_kwargs: {key}: there is no '{name}'; there is {', '.join(near)}")
