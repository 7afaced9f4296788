"""Starts a Doom engine that leaves nothing behind: no process, no file, no shared memory."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import vizdoom

from utils.errors import ConfigError

if TYPE_CHECKING:
    from vizdoom import DoomGame

_LAUNCHER = Path(__file__).with_name("launch_engine.py")
_SHARED_MEMORY = Path("/dev/shm")
_SHARED_NAMES = ("ViZDoomSM", "ViZDoomMQCtr", "ViZDoomMQDoom")


def load_game(config: Path) -> DoomGame:
    """Read a scenario's config file into a game that is not started yet.

    Raises:
        ConfigError: A line of the file cannot be used, or its `.wad` is missing.
    """
    game = vizdoom.DoomGame()
    with _captured_warnings() as warnings:
        try:
            is_clean = game.load_config(str(config))
        except Exception as error:  # vizdoom names many kinds
            raise ConfigError(f"{config}: {_one_line(error)}") from error
    if not is_clean:
        raise ConfigError(f"{config}: {_one_line(warnings[0])}")
    wad = game.get_doom_scenario_path()
    if wad and not Path(wad).is_file():
        raise ConfigError(
            f"{config}: its doom_scenario_path leads to {wad}, and there is no such file"
        )
    if not game.get_available_buttons():
        raise ConfigError(f"{config}: it names no available_buttons, so nothing could be done")
    return game


def start_engine(game: DoomGame, *, config: Path) -> None:
    """Start the engine of a game.

    It works in a temporary folder. Once it runs it needs neither that nor the names of the memory
    that it shares with this process, so all are removed, and nothing is left whichever of the two
    is killed.

    Args:
        game: As `load_game` returned it, with its settings.
        config: Named in errors.

    Raises:
        ConfigError: The engine did not start.
    """
    with tempfile.TemporaryDirectory(prefix="vizdoom-") as folder:
        script = Path(folder) / "engine.sh"
        command = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid())]
        engine = str(Path(vizdoom.__file__).with_name("vizdoom"))
        script.write_text(
            f"#!/bin/sh\ncd {shlex.quote(folder)}\n"
            f'exec {shlex.join(command)} {shlex.quote(engine)} "$@"\n'
        )
        script.chmod(0o700)
        game.set_vizdoom_path(str(script))
        game.set_doom_config_path(os.devnull)  # the engine would write its settings there
        try:
            game.init()
        except Exception as error:  # vizdoom names many kinds
            game.close()
            raise ConfigError(f"{config}: Doom did not start: {_one_line(error)}") from error
    for name in _SHARED_NAMES:
        (_SHARED_MEMORY / f"{name}{game.get_instance_id()}").unlink(missing_ok=True)


@contextlib.contextmanager
def _captured_warnings() -> Iterator[list[str]]:
    """Collect what native code writes to the standard error stream."""
    lines: list[str] = []
    sys.stderr.flush()
    with tempfile.TemporaryFile("w+") as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            lines.extend(line for line in file if line.strip())


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
