"""One Doom scenario as a Gymnasium environment."""

from __future__ import annotations

import difflib
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import vizdoom
from gymnasium.envs.registration import EnvSpec
from typing_extensions import override

from gym_envs.vizdoom.buttons import ButtonActions
from gym_envs.vizdoom.engine import load_game, start_engine
from gym_envs.vizdoom.maps import set_map
from gym_envs.vizdoom.scenarios import find_config
from utils.errors import ConfigError

_TICS_PER_SECOND = vizdoom.DEFAULT_TICRATE
_FORMATS = ("RGB24", "GRAY8")
_BUFFERS = ("depth", "labels", "automap")
_N_SEEDS = 2**32


class VizDoomEnv(gym.Env):
    """A scenario of Doom, played by pictures.

    An observation is the screen, (H, W, 3) or (H, W, 1) uint8, or with `game_variables` or
    `buffers` a dict of `screen`, `gamevariables` (k,) float32, and `depth`, `labels`, `automap`.
    The reward is the scenario's own, summed over the tics of a step.

    The scenario's time-out counts tics after its start; it is counted here, and not by the engine.
    So the picture after the last step is the true one, where the engine would have none, and a
    time-out truncates without terminating. Where an episode terminates there is no picture any
    more: the last one is given again. A picture depends on the seed and the actions alone.

    Attributes:
        max_episode_steps: Steps after which an episode is truncated, or None: the time-out in
            tics, divided by `frame_skip` and rounded up. Reported by `spec` too.
        frames_per_step: Tics of a step.
        action_names: What each action presses.
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": _TICS_PER_SECOND}  # noqa: RUF012

    def __init__(  # noqa: PLR0913 - one keyword per setting
        self,
        config_path: str | os.PathLike[str] | None = None,
        *,
        frame_skip: int = 4,
        screen_resolution: str = "RES_160X120",
        screen_format: str = "RGB24",
        actions: str | Sequence[str] = "buttons",
        game_variables: bool | Sequence[str] = False,
        buffers: Sequence[str] = (),
        doom_map: str | None = None,
        doom_skill: int | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Start the engine.

        Args:
            config_path: The scenario's `.cfg` file.
            frame_skip: Tics of a step, 35 a second, at least 1.
            screen_resolution: As vizdoom names it: RES_160X120, RES_320X240, ...
            screen_format: "RGB24" or "GRAY8".
            actions: "buttons", "combinations", "multi_binary" or a list; see `ButtonActions`.
            game_variables: True adds the scenario's variables to the observation, a list of
                vizdoom's names (HEALTH, AMMO2, ...) these instead.
            buffers: Of "depth", "labels" and "automap", which to add to the observation.
            doom_map: Another map of the game or scenario, such as E1M2 or map03.
            doom_skill: Difficulty, 1 to 5, instead of the scenario's.
            max_steps: Time limit in steps instead of the scenario's time-out.
            render_mode: "rgb_array", "human" (the engine's own window), or None.

        Raises:
            ConfigError: A setting or the scenario's file cannot be used.
        """
        self.render_mode = render_mode
        self._config = find_config(config_path)
        self.frames_per_step = _whole("frame_skip", frame_skip, 1)
        game = load_game(self._config)
        timeout = game.get_episode_timeout()
        if max_steps is not None:
            timeout = _whole("max_steps", max_steps, 1) * self.frames_per_step
        self._timeout = timeout or None
        self.max_episode_steps = math.ceil(timeout / self.frames_per_step) if timeout else None
        self.metadata = {**self.metadata, "render_fps": _TICS_PER_SECOND / self.frames_per_step}
        self._choose_level(game, doom_map, doom_skill)
        self._choose_picture(game, screen_resolution, screen_format, buffers)
        self._variables = _choose_variables(game, game_variables)
        self._actions = ButtonActions([b.name for b in game.get_available_buttons()], actions)
        self.action_names = self._actions.names
        self.action_space = self._actions.space
        self.observation_space = self._build_space(game)
        self._is_dict = isinstance(self.observation_space, gym.spaces.Dict)
        start_engine(game, config=self._config)
        self._game = game
        self._n_tics = 0
        self._is_over = True
        self._observation: dict[str, np.ndarray] = {}
        self._spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """Gymnasium's description, with the limit in steps that this environment keeps."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None and spec.max_episode_steps is None:
            spec.max_episode_steps = self.max_episode_steps  # each environment is given its own
        self._spec = spec

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._game.set_seed(int(self.np_random.integers(_N_SEEDS)))
        self._game.new_episode()
        self._n_tics = 0
        self._is_over = False
        return self._observe(), self._info()

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert not self._is_over, "reset() comes before step()"
        n_tics = self.frames_per_step
        if self._timeout is not None:
            n_tics = min(n_tics, self._timeout - self._n_tics)
        self._n_tics += n_tics
        reward = self._game.make_action(self._actions.presses(action), n_tics)
        terminated = self._game.is_episode_finished()
        truncated = not terminated and self._n_tics == self._timeout
        self._is_over = terminated or truncated
        observation = self._give_again() if terminated else self._observe()
        if self.render_mode == "human":
            time.sleep(n_tics / _TICS_PER_SECOND)
        return observation, reward, terminated, truncated, self._info()

    @override
    def render(self) -> np.ndarray | None:
        """Return the screen, (H, W, 3) uint8; the engine's window draws itself."""
        if self.render_mode == "human":
            return None
        screen = self._observation["screen"]
        return np.repeat(screen, 3, axis=2) if screen.shape[2] == 1 else screen.copy()

    @override
    def close(self) -> None:
        """End the engine."""
        if hasattr(self, "_game"):
            self._game.close()

    def _choose_level(self, game: Any, doom_map: str | None, doom_skill: int | None) -> None:
        game.set_mode(vizdoom.Mode.PLAYER)
        game.set_episode_timeout(0)  # counted here
        set_map(game, doom_map)
        if doom_skill is not None:
            game.set_doom_skill(_whole("doom_skill", doom_skill, 1, 5))

    def _choose_picture(
        self, game: Any, resolution: str, screen_format: str, buffers: Sequence[str]
    ) -> None:
        # No engine sound: some versions of its sound library end the whole process.
        game.set_sound_enabled(False)
        game.set_audio_buffer_enabled(False)
        game.set_notifications_buffer_enabled(False)
        game.set_window_visible(self.render_mode == "human")
        resolutions = vizdoom.ScreenResolution.__members__
        game.set_screen_resolution(
            resolutions[_one_of("screen_resolution", resolution, resolutions)]
        )
        name = _one_of("screen_format", screen_format, _FORMATS)
        game.set_screen_format(getattr(vizdoom.ScreenFormat, name))
        names = _a_list("buffers", buffers)
        self._buffers = tuple(_one_of("buffers", buffer, _BUFFERS) for buffer in names)
        game.set_depth_buffer_enabled("depth" in self._buffers)
        game.set_labels_buffer_enabled("labels" in self._buffers)
        game.set_automap_buffer_enabled("automap" in self._buffers)

    def _build_space(self, game: Any) -> gym.Space:
        size = (game.get_screen_height(), game.get_screen_width())
        colours = (*size, game.get_screen_channels())
        shapes = {"screen": colours, "depth": (*size, 1), "labels": (*size, 1), "automap": colours}
        spaces: dict[str, gym.Space] = {
            name: gym.spaces.Box(0, 255, shapes[name], np.uint8)
            for name in ("screen", *self._buffers)
        }
        if self._variables:
            spaces["gamevariables"] = gym.spaces.Box(
                -np.inf, np.inf, (len(self._variables),), np.float32
            )
        return gym.spaces.Dict(spaces) if len(spaces) > 1 else spaces["screen"]

    def _observe(self) -> Any:
        """Read the engine's state into `_observation` and return it."""
        state = self._game.get_state()
        observation = {"screen": _as_picture(state.screen_buffer)}
        for name in self._buffers:
            observation[name] = _as_picture(getattr(state, f"{name}_buffer"))
        if self._variables:
            observation["gamevariables"] = state.game_variables.astype(np.float32)
        self._observation = observation
        return self._give()

    def _give_again(self) -> Any:
        """Return the last observation once more, in arrays of its own."""
        self._observation = {name: array.copy() for name, array in self._observation.items()}
        return self._give()

    def _give(self) -> Any:
        return dict(self._observation) if self._is_dict else self._observation["screen"]

    def _info(self) -> dict[str, Any]:
        values = self._observation.get("gamevariables")
        if values is None:
            return {}
        return dict(zip(self._variables, values.tolist(), strict=True))


def _choose_variables(game: Any, asked: bool | Sequence[str]) -> tuple[str, ...]:
    """Set which variables the engine reports; return their names in lower case."""
    if not asked:
        game.set_available_game_variables([])
        return ()
    if asked is not True:
        known: Mapping[str, Any] = vizdoom.GameVariable.__members__
        game.set_available_game_variables(
            [
                known[_one_of("game_variables", name, known)]
                for name in _a_list("game_variables", asked)
            ]
        )
    names = tuple(variable.name.lower() for variable in game.get_available_game_variables())
    if not names:
        raise ConfigError(
            "env_kwargs: game_variables: the scenario names none; list them, such as [HEALTH]"
        )
    return names


def _as_picture(buffer: np.ndarray) -> np.ndarray:
    return buffer[..., None] if buffer.ndim == 2 else buffer


def _whole(key: str, value: Any, least: int, most: int | None = None) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ConfigError(f"env_kwargs: {key}: must be a whole number, {bounds}, got {value!r}")
    return value


def _a_list(key: str, value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigError(f"env_kwargs: {key}: must be a list of names, got {value!r}")
    return value


def _one_of(key: str, value: Any, known: Mapping[str, Any] | Sequence[str]) -> str:
    if value in known:
        return str(value)
    near = difflib.get_close_matches(str(value).upper(), list(known), n=3, cutoff=0.4)
    if len(known) <= len(_BUFFERS):
        near = list(known)
    hint = f"; choose {' or '.join(near)}" if near else ""
    raise ConfigError(f"env_kwargs: {key}: there is no '{value}'{hint}")
