"""MuJoCo environments: pictures without a display, and no notes of the engine on the side."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from utils.errors import ConfigError

_VARIABLE = "MUJOCO_GL"
_BACKENDS = ("egl", "glfw", "osmesa")
_DISABLED = ("disabled", "disable", "off", "false", "0")
# In the order of choice: EGL draws on a GPU where there is one, and in software where there is not.
_OFF_SCREEN = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")

_logger = logging.getLogger(__name__)


def make(spec: EnvSpec, **kwargs: Any) -> gym.Env:
    """Build a MuJoCo environment, able to draw pictures without a display.

    Args:
        spec: Its registered spec.
        kwargs: As for `gymnasium.make`.

    Raises:
        ConfigError: `MUJOCO_GL` names no backend, or pictures are asked for and none can be drawn.
    """
    prepare_process(renders=kwargs.get("render_mode") is not None)
    return gym.make(spec, **kwargs)


def prepare_process(*, renders: bool) -> None:
    """Ready this process for MuJoCo: choose how to draw, keep its notes out of files.

    Worker processes inherit the choice by the environment variable.

    Args:
        renders: Pictures will be asked for.

    Raises:
        ConfigError: As for `make`.
    """
    choose_backend(os.environ, can_load=_can_load, renders=renders)
    import mujoco

    # Without a handler the engine appends each note to MUJOCO_LOG.TXT in the working folder.
    mujoco.set_mju_user_warning(log_note)


def choose_backend(
    environ: MutableMapping[str, str], *, can_load: Callable[[str], bool], renders: bool
) -> None:
    """Set `MUJOCO_GL` to a backend that needs no display, unless somebody has set it.

    Must run before anything of MuJoCo or dm_control is imported.

    Args:
        environ: The environment variables.
        can_load: Whether a shared library is there.
        renders: Pictures will be asked for.

    Raises:
        ConfigError: The variable names no backend, or pictures are asked for without any way.
    """
    written = environ.get(_VARIABLE, "").lower().strip()
    if written in _DISABLED:
        if renders:
            raise _refuse_to_draw(written, environ, can_load=can_load)
        return
    if written:
        _check_backend(written, can_load=can_load)
        return
    if not sys.platform.startswith("linux"):
        return  # the engine's own choice works there
    for backend, library in _OFF_SCREEN.items():
        if can_load(library):
            environ[_VARIABLE] = backend
            return
    environ.pop(_VARIABLE, None)
    if _has_display(environ):
        return
    if renders:
        raise _refuse_to_draw("", environ, can_load=can_load)
    environ[_VARIABLE] = _DISABLED[0]  # else the engine looks for a display when it is imported


def _refuse_to_draw(
    written: str, environ: Mapping[str, str], *, can_load: Callable[[str], bool]
) -> ConfigError:
    """Return why no picture can be drawn: nothing is there, or `MUJOCO_GL` has put it off."""
    libraries = _OFF_SCREEN.values()
    if written and (_has_display(environ) or any(map(can_load, libraries))):
        return ConfigError(
            f"MuJoCo draws no picture while the variable {_VARIABLE} is '{written}': unset it, "
            "or set video: none"
        )
    # Where it is put off and nothing could draw, this process may have done so itself before.
    return ConfigError(
        "MuJoCo draws no picture here: there is no display, and neither "
        f"{' nor '.join(libraries)} can be loaded; install libegl1 and "
        "libgl1-mesa-dri (or libosmesa6) with the system's package manager, or set video: none"
    )


def _has_display(environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in _DISPLAYS)


def _check_backend(written: str, *, can_load: Callable[[str], bool]) -> None:
    """Refuse what somebody has set, if it names no backend or one that would not work."""
    if written not in _BACKENDS:
        raise ConfigError(
            f"the variable {_VARIABLE} is '{written}': it must be one of {', '.join(_BACKENDS)}, "
            "or not set"
        )
    library = _OFF_SCREEN.get(written)
    if library is not None and sys.platform.startswith("linux") and not can_load(library):
        raise ConfigError(
            f"the variable {_VARIABLE} is '{written}', and {library} cannot be loaded: install it "
            f"with the system's package manager, or unset {_VARIABLE}"
        )


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def log_note(text: str) -> None:
    """Pass a note of the engine on to the log; leave out what is deprecated in others' models."""
    if "deprecated" not in text:
        _logger.warning("MuJoCo: %s", " ".join(text.split()))
