"""What an Atari environment shows: a picture, the memory, or the objects on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gym_envs.atari.emulator import N_RAM_BYTES, Emulator
from gym_envs.atari.objects import ObjectReader, find_object_reader
from utils.errors import ConfigError, MissingDependencyError

PICTURE_TYPES = ("rgb", "grayscale")
_N_SHOWN = 2  # frames that a picture is made of


class Observer(Protocol):
    """Turns the state of the console into observations."""

    space: gym.Space

    def begin(self) -> np.ndarray:
        """Return the first observation of a game."""

    def see_frame(self, n_left: int) -> None:
        """Take note of a frame; `n_left` counts down to 1 for the last one of a step."""

    def observe(self) -> np.ndarray:
        """Return the observation after a step; nobody writes to it afterwards."""


def build_observer(
    obs_type: str,
    emulator: Emulator,
    *,
    game: str,
    maxpool: bool,
    screen_size: Sequence[int] | None,
) -> Observer:
    """Build the observer of an `obs_type`; the arguments are those of `AtariEnv`.

    Raises:
        ConfigError: There is no such kind of observation, or not of this game.
        MissingDependencyError: Another screen size needs OpenCV.
    """
    if obs_type in PICTURE_TYPES:
        size = emulator.screen_size if screen_size is None else tuple(screen_size)
        return PictureObserver(emulator, is_gray=obs_type != "rgb", maxpool=maxpool, size=size)
    if obs_type == "ram":
        return RamObserver(emulator)
    if obs_type == "objects":
        return ObjectObserver(emulator, find_object_reader(game))
    raise ConfigError(
        f"env_kwargs.obs_type: '{obs_type}' is not one of rgb, grayscale, ram, objects"
    )


class PictureObserver:
    """Shows the screen: the last frame, or the brighter of the last two in each pixel.

    Two frames are held, the older of them second. A step that ends before its last two frames
    leaves them as they were, so its picture is made of older ones.
    """

    def __init__(
        self, emulator: Emulator, *, is_gray: bool, maxpool: bool, size: tuple[int, ...]
    ) -> None:
        self._read = emulator.read_grayscale if is_gray else emulator.read_rgb
        channels = () if is_gray else (3,)
        raw_shape = (*emulator.screen_size, *channels)
        self._frames = [np.zeros(raw_shape, np.uint8) for _ in range(_N_SHOWN)]
        self._maxpool = maxpool
        self._size = size
        self._cv2 = None if size == emulator.screen_size else _import_cv2()
        self.space = spaces.Box(0, 255, (*size, *channels), np.uint8)

    def begin(self) -> np.ndarray:
        """Return the picture of the screen as it is."""
        self._read(self._frames[0])
        self._frames[1].fill(0)
        return self.observe()

    def see_frame(self, n_left: int) -> None:
        """Keep the frame if it is one of the last two of the step."""
        if n_left <= _N_SHOWN:
            self._read(self._frames[n_left - 1])

    def observe(self) -> np.ndarray:
        """Return a picture of its own, (H, W) or (H, W, 3) uint8."""
        newest, older = self._frames
        if self._maxpool:
            np.maximum(newest, older, out=newest)
        if self._cv2 is None:
            return newest.copy()
        height, width = self._size
        # Averages the pixels that fall into one: small objects do not flicker.
        return self._cv2.resize(newest, (width, height), interpolation=self._cv2.INTER_AREA)


class RamObserver:
    """Shows the 128 bytes of the console's memory."""

    space = spaces.Box(0, 255, (N_RAM_BYTES,), np.uint8)

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def begin(self) -> np.ndarray:
        """Return the memory."""
        return self.observe()

    def see_frame(self, n_left: int) -> None:
        """Do nothing: only the memory at the end of a step counts."""

    def observe(self) -> np.ndarray:
        """Return the memory, (128,) uint8."""
        return self._emulator.read_ram(np.empty(N_RAM_BYTES, np.uint8))


class ObjectObserver:
    """Shows where the objects of a game are and how they moved since the last observation."""

    def __init__(self, emulator: Emulator, reader: ObjectReader) -> None:
        self._emulator = emulator
        self._reader = reader
        self._ram = np.empty(N_RAM_BYTES, np.uint8)
        self._older: np.ndarray | None = None
        self.space = reader.space

    def begin(self) -> np.ndarray:
        """Return the objects at rest."""
        self._older = None
        return self.observe()

    def see_frame(self, n_left: int) -> None:
        """Do nothing: only the memory at the end of a step counts."""

    def observe(self) -> np.ndarray:
        """Return the features that the reader's labels name, (k,) float32."""
        newer = self._reader.read_positions(self._emulator.read_ram(self._ram))
        older = newer if self._older is None else self._older
        self._older = newer
        return self._reader.build_features(older, newer)


def _import_cv2() -> Any:
    try:
        import cv2
    except ImportError as error:
        raise MissingDependencyError(
            "opencv-python-headless", extra="atari", needed_for="env_kwargs.screen_size"
        ) from error
    cv2.setNumThreads(1)
    return cv2
