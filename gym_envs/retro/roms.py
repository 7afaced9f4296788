"""Which games are known and which are installed, and what to say where one is not."""

from __future__ import annotations

import difflib

from utils.errors import MissingAssetError

PREFIX = "Retro/"


def check_rom(env_id: str) -> None:
    """Make sure that the game of an id can be played; an id that is not known is left alone.

    Raises:
        MissingAssetError: stable-retro knows the game, and its ROM was not imported.
    """
    game = env_id.rpartition(":")[2].removeprefix(PREFIX)
    from stable_retro import data

    everything = data.Integrations.ALL
    if not data.get_file_path(game, "rom.sha", everything) or _has_rom(game):
        return
    installed = [name for name in data.list_games(everything) if _has_rom(name)]
    near = difflib.get_close_matches(game, installed, n=3, cutoff=0.0)
    raise MissingAssetError(
        f"{PREFIX}{game} needs the ROM of {game}, which is not installed: import your own with  "
        f"python -m stable_retro.import FOLDER  (installed: {', '.join(near) or 'none'})"
    )


def _has_rom(game: str) -> bool:
    from stable_retro import data

    try:
        data.get_romfile_path(game, data.Integrations.ALL)
    except FileNotFoundError:
        return False
    return True
