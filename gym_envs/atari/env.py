"""One game of the Arcade Learning Environment: what is shown, skipped and begun with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from typing_extensions import override

from gym_envs.atari.emulator import N_RAM_BYTES, Emulator
from gym_envs.atari.noop_draws import build_generator, draw_below
from gym_envs.atari.objects import find_object_reader
from gym_envs.atari.observers import Observer, build_observer

_FRAMES_PER_SECOND = 60


class AtariEnv(gym.Env):
    """Plays one game; the same settings as for ALE's vector environment give the same game.

    A step repeats its action for `frameskip` frames. A game ends inside a step where it does, and
    a picture then holds what its two newest frames held before. The preprocessing is that of
    Mnih et al. 2015 (doi:10.1038/nature14236) as Machado et al. 2018 (doi:10.1613/jair.5699)
    tell it; what changes rewards or ends for the learner alone is left to wrappers.

    Everything that happens is a function of the seed of the last seeded reset and of the actions
    since. `np_random` holds what the no-ops are drawn from; ALE's own generator, which repeats
    actions at random, is not part of it.

    Attributes:
        game: Name of the ROM, such as "ms_pacman".
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["rgb_array"],
        "render_fps": _FRAMES_PER_SECOND,
    }

    def __init__(  # noqa: PLR0913 - one keyword per setting of the game
        self,
        *,
        game: str,
        obs_type: str,
        frameskip: int,
        repeat_action_probability: float,
        full_action_space: bool,
        maxpool: bool,
        noop_max: int,
        fire_reset: bool,
        screen_size: Sequence[int] | None,
        max_num_frames_per_episode: int,
        mode: int | None,
        difficulty: int | None,
        render_mode: str | None = None,
    ) -> None:
        """Load the game.

        Args:
            game: Name of the ROM, such as "ms_pacman".
            obs_type: "rgb" (H, W, 3), "grayscale" (H, W) or "ram" (128,), all uint8; "objects"
                (k,) float32, for the games that have a table of them.
            frameskip: Frames that an action is repeated for, at least 1.
            repeat_action_probability: Probability with which a frame ignores the action and
                repeats the one before ("sticky actions").
            full_action_space: Offer all 18 actions instead of those that the game knows.
            maxpool: Show the brighter of the two newest frames in each pixel, against sprites
                that are drawn in every other frame only.
            noop_max: A game begins with 0 to `noop_max - 1` frames without action; 0 for none.
            fire_reset: Press FIRE when a game begins, where that is an action. It counts as one
                of the no-ops. A life that is lost does not press it.
            screen_size: (height, width) that pictures are reduced to; None for the screen's.
            max_num_frames_per_episode: Frames after which a game is truncated; those of the
                no-ops do not count.
            mode: Mode of the game; None for its own.
            difficulty: Likewise.
            render_mode: None or "rgb_array".

        Raises:
            ConfigError: The game has no ROM, or no such mode or difficulty, or no objects.
            MissingDependencyError: Another screen size needs OpenCV.
        """
        self.render_mode = render_mode
        self.metadata = {**type(self).metadata, "render_fps": _FRAMES_PER_SECOND / frameskip}
        self._ale = Emulator(
            game,
            repeat_action_probability=repeat_action_probability,
            mode=mode,
            difficulty=difficulty,
        )
        self.game = game
        self._frameskip = frameskip
        self._noop_max = noop_max
        self._max_frames = max_num_frames_per_episode
        self._actions = self._ale.list_actions(full=full_action_space)
        self._fires = fire_reset and "FIRE" in self.get_action_meanings()
        self._n_frames = 0
        self._observer: Observer = build_observer(
            obs_type, self._ale, game=game, maxpool=maxpool, screen_size=screen_size
        )
        self.observation_space = self._observer.space
        self.action_space = spaces.Discrete(len(self._actions))
        self._np_random = build_generator(None)

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions, such as NOOP or UPFIRE, in the order of the space."""
        return [action.name for action in self._actions]

    def read_objects(self) -> dict[str, float]:
        """Return where the objects are, in pixels by label; NaN for one that is not there.

        Raises:
            ConfigError: There is no table of the game's objects.
        """
        reader = find_object_reader(self.game)
        pixels = reader.read_pixels(self._ale.read_ram(np.empty(N_RAM_BYTES, np.uint8)))
        return dict(zip(reader.labels, pixels.tolist(), strict=False))

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self._np_random_seed = seed
            self._np_random = build_generator(seed)
            self._ale.seed(seed)
        self._ale.begin(fire=self._fires, n_noops=self._draw_noops())
        self._n_frames = 0
        return self._observer.begin(), self._read_info()

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        ale, observer = self._ale, self._observer
        chosen = self._actions[int(action)]
        reward, terminated, truncated = 0, False, False
        for n_left in range(self._frameskip, 0, -1):
            reward += ale.act(chosen)
            self._n_frames += 1
            terminated = ale.is_over()
            truncated = self._n_frames >= self._max_frames and not terminated
            if terminated or truncated:
                break
            observer.see_frame(n_left)
        return observer.observe(), float(reward), terminated, truncated, self._read_info()

    @override
    def render(self) -> np.ndarray | None:
        """Return the screen (H, W, 3) uint8, whatever the observation is."""
        return None if self.render_mode is None else self._ale.read_rgb()

    @override
    def close(self) -> None:
        """Let go of the console: bindings complain of what is alive when a program ends."""
        self._ale.close()

    def _draw_noops(self) -> int:
        if self._noop_max == 0:
            return 0
        return draw_below(self._np_random, self._noop_max) - self._fires

    def _read_info(self) -> dict[str, Any]:
        return {"lives": self._ale.count_lives(), "episode_frame_number": self._n_frames}
