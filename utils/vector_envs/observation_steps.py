"""Steps between an environment's observation and a stored row: gray, resize, order, stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from utils.errors import ConfigError, MissingDependencyError
from utils.vector_envs.spaces import Leaf, stored_space

# Below this many pixels on a side, a symbolic grid and a picture cannot be told apart.
_SMALLEST_PICTURE = 16
_CHANNEL_COUNTS = (1, 3, 4)
_N_COLOURS = 3
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R BT.601


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservationOptions:
    """What is done to observations before they are stored.

    Attributes:
        grayscale: Reduce RGB pictures to one channel (ITU-R BT.601 weights); pictures of one
            channel stay as they are.
        resize: New (height, width) of pictures in pixels, or None.
        frame_stack: Number of latest observations joined along the first axis, oldest first.
        channel_order: "first" or "last" declares pictures, "none" declares that there are none,
            "auto" recognises unambiguous pictures.
    """

    grayscale: bool = False
    resize: tuple[int, int] | None = None
    frame_stack: int = 1
    channel_order: str = "auto"


@dataclass(frozen=True, slots=True)
class LeafSteps:
    """How one leaf is turned into a stored row.

    Attributes:
        leaf: The leaf as the environment gives it.
        convert: Maps the environment's value to one frame; None where it is stored as it is.
        frame_stack: Number of frames in a row.
        space: Space of the stored row.
    """

    leaf: Leaf
    convert: Callable[[Any], np.ndarray] | None
    frame_stack: int
    space: gym.Space


def resolve_leaf_steps(
    leaves: tuple[Leaf, ...], options: ObservationOptions, *, env_id: str
) -> tuple[LeafSteps, ...]:
    """Decide the steps of each leaf and the space of its rows.

    Args:
        leaves: All leaves of the observation.
        options: What the config asks for.
        env_id: Named in errors.

    Raises:
        ConfigError: The channel order of a picture is ambiguous, an option has no effect, or a
            picture is not made of the colours that grayscale mixes.
        MissingDependencyError: Resizing is asked for without OpenCV.
    """
    orders = [_channel_order(leaf, options.channel_order, env_id=env_id) for leaf in leaves]
    has_picture = any(orders)
    if not has_picture:
        _refuse_picture_options(options, env_id=env_id)
    elif options.grayscale:
        _check_colours(leaves, orders, env_id=env_id)
    return tuple(
        _stack_frames(_picture_steps(leaf, order, options), options.frame_stack, env_id=env_id)
        if order
        else _stack_frames(
            _plain_steps(leaf, flatten=options.channel_order == "none"),
            # In a mixed observation only the pictures are stacked.
            1 if has_picture else options.frame_stack,
            env_id=env_id,
        )
        for leaf, order in zip(leaves, orders, strict=True)
    )


def _refuse_picture_options(options: ObservationOptions, *, env_id: str) -> None:
    asked = {
        "grayscale_obs": options.grayscale,
        "resize_obs": options.resize is not None,
        "channel_order": options.channel_order in ("first", "last"),
    }
    for name in (name for name, is_asked in asked.items() if is_asked):
        raise ConfigError(
            f"{env_id}: {name} has no effect: no observation is a picture "
            "(a uint8 Box with values 0 to 255 and 2 or 3 dimensions)"
        )


def _check_colours(leaves: tuple[Leaf, ...], orders: list[str | None], *, env_id: str) -> None:
    """Refuse to turn pictures gray that are gray already, or whose channels are no colours."""
    counts = [
        _split_shape(leaf.space.shape, order)[0]
        for leaf, order in zip(leaves, orders, strict=True)
        if order
    ]
    for count in counts:
        if count not in (1, _N_COLOURS):
            raise ConfigError(
                f"{env_id}: grayscale_obs needs pictures of 3 channels (red, green, blue), "
                f"and one has {count}"
            )
    if _N_COLOURS not in counts:
        raise ConfigError(
            f"{env_id}: grayscale_obs has no effect: all pictures are gray already (1 channel)"
        )


def _split_shape(shape: tuple[int, ...], order: str) -> tuple[int, int, int]:
    """Return channels, height and width of a picture."""
    if order == "absent":
        return 1, *shape
    if order == "first":
        return shape
    height, width, channels = shape
    return channels, height, width


def _channel_order(leaf: Leaf, declared: str, *, env_id: str) -> str | None:
    """Return "first", "last", "absent" (H, W), or None where the leaf is not a picture."""
    space = leaf.space
    if declared == "none" or not _holds_bytes(space) or len(space.shape) not in (2, 3):
        return None
    if len(space.shape) == 2:
        return "absent" if min(space.shape) >= _SMALLEST_PICTURE or declared != "auto" else None
    if declared != "auto":
        return declared
    first, last = (space.shape[axis] in _CHANNEL_COUNTS for axis in (0, 2))
    sides = space.shape[1:] if first else space.shape[:2]
    if first != last and min(sides) >= _SMALLEST_PICTURE:
        return "first" if first else "last"
    place = f" at '{leaf.key}'" if leaf.key else ""
    raise ConfigError(
        f"{env_id}: the uint8 observation{place} of shape {space.shape} may be a picture or not: "
        "set channel_order to first (channels, height, width), last (height, width, channels), "
        "or none (not a picture)"
    )


def _holds_bytes(space: gym.Space) -> bool:
    return (
        isinstance(space, spaces.Box)
        and space.dtype == np.uint8
        and bool((space.low == 0).all() and (space.high == 255).all())
    )


def _plain_steps(leaf: Leaf, *, flatten: bool) -> LeafSteps:
    space = stored_space(leaf.space)
    if flatten and _holds_bytes(space) and len(space.shape) > 1:
        flat = spaces.Box(space.low.reshape(-1), space.high.reshape(-1), dtype=np.uint8)
        return LeafSteps(leaf, np.ravel, 1, flat)
    return LeafSteps(leaf, None, 1, space)


def _picture_steps(leaf: Leaf, order: str, options: ObservationOptions) -> LeafSteps:
    """Compose the steps of a picture; the result is (C, H, W) uint8."""
    channels, height, width = _split_shape(leaf.space.shape, order)
    gray = options.grayscale and channels == _N_COLOURS
    resize = options.resize if options.resize and options.resize != (height, width) else None
    if resize is not None:
        height, width = resize
    channels = 1 if gray else channels
    convert = _PictureConverter(order=order, gray=gray, resize=resize)
    return LeafSteps(leaf, convert, 1, spaces.Box(0, 255, (channels, height, width), np.uint8))


class _PictureConverter:
    """Turns one frame into (C, H, W) uint8."""

    def __init__(self, *, order: str, gray: bool, resize: tuple[int, int] | None) -> None:
        self._order = order
        self._gray = gray
        self._size = None if resize is None else (resize[1], resize[0])  # OpenCV: width, height
        self._cv2 = None if resize is None else _import_cv2()

    def __call__(self, frame: np.ndarray) -> np.ndarray:
        """Map a frame (H, W), (H, W, C) or (C, H, W) uint8 to (C, H, W) uint8."""
        if self._order == "absent":
            frame = frame[:, :, None]
        elif self._order == "first":
            frame = frame.transpose(1, 2, 0)
        if self._gray:
            frame = np.rint(frame.astype(np.float32) @ _LUMA).astype(np.uint8)[:, :, None]
        if self._cv2 is not None:
            # INTER_AREA averages the pixels that fall into one: no flicker of small objects.
            frame = self._cv2.resize(
                np.ascontiguousarray(frame), self._size, interpolation=self._cv2.INTER_AREA
            )
            frame = frame.reshape(*frame.shape[:2], -1)
        return frame.transpose(2, 0, 1)


def _import_cv2() -> Any:
    try:
        import cv2
    except ImportError as error:
        raise MissingDependencyError(
            "opencv-python-headless", extra="image", needed_for="resize_obs"
        ) from error
    cv2.setNumThreads(1)
    return cv2


def _stack_frames(steps: LeafSteps, frame_stack: int, *, env_id: str) -> LeafSteps:
    """Widen the row of a leaf to `frame_stack` frames along its first axis."""
    if frame_stack == 1:
        return steps
    if not isinstance(steps.space, spaces.Box) or not steps.space.shape:
        raise ConfigError(
            f"{env_id}: frame_stack needs observations that are arrays (Box), "
            f"not {type(steps.space).__name__}"
        )
    repeats = (frame_stack,) + (1,) * (len(steps.space.shape) - 1)
    stacked = spaces.Box(
        np.tile(steps.space.low, repeats),
        np.tile(steps.space.high, repeats),
        dtype=steps.space.dtype.type,
    )
    return LeafSteps(steps.leaf, steps.convert, frame_stack, stacked)
