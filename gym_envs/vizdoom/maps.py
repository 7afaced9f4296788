"""Which levels a game or scenario of Doom has: the engine waits for ever for one that it lacks."""

from __future__ import annotations

import difflib
import struct
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import vizdoom

from utils.errors import ConfigError

if TYPE_CHECKING:
    from vizdoom import DoomGame

_HEADER = struct.Struct("<4sii")  # kind, number of entries, place of the directory
_ENTRY = struct.Struct("<ii8s")  # place, length, name
_FIRST_LUMPS = ("THINGS", "TEXTMAP")  # what follows the entry that is named as the level
_DEFAULT_GAMES = ("doom2.wad", "freedoom2.wad")
_DEFAULT_MAP = "MAP01"  # of vizdoom, for scenarios that name none


def set_map(game: DoomGame, doom_map: str | None) -> None:
    """Choose the level of a game.

    Args:
        game: With its scenario loaded.
        doom_map: The level's name in either case of letters, such as E1M2 or map03. None keeps the
            scenario's, or takes the first of a game whose levels are named otherwise (E1M1).

    Raises:
        ConfigError: There is no such level. Where a file cannot be read, that is not known, and
            the engine is asked.
    """
    if doom_map is not None:
        game.set_doom_map(str(doom_map))
    wanted = game.get_doom_map().upper()
    levels = _list_levels(game)
    if not levels or wanted in levels:
        return
    if doom_map is None and wanted == _DEFAULT_MAP:
        game.set_doom_map(levels[0])
        return
    near = difflib.get_close_matches(wanted, levels, n=3, cutoff=0.5) or levels[:3]
    raise ConfigError(
        f"env_kwargs: doom_map: there is no level '{doom_map or wanted}'; "
        f"choose {' or '.join(near)}"
    )


def list_maps(file: Path) -> list[str] | None:
    """Return the names of the levels in a `.wad`, upper case; None if it is no such file."""
    try:
        content = file.read_bytes()
        kind, n_entries, start = _HEADER.unpack_from(content)
        if kind not in (b"IWAD", b"PWAD"):
            return None
        directory = content[start : start + n_entries * _ENTRY.size]
        names = [
            name.rstrip(b"\0").decode("latin-1").upper()
            for _, _, name in _ENTRY.iter_unpack(directory)
        ]
    except (OSError, struct.error):
        return None
    return [name for name, lump in pairwise(names) if lump in _FIRST_LUMPS]


def _list_levels(game: DoomGame) -> list[str]:
    """Return the levels of scenario and game, each once; none if one of the files is unreadable."""
    folder = Path(vizdoom.__file__).parent
    own_game = Path(game.get_doom_game_path() or "")
    if not own_game.name:
        games = [folder / name for name in _DEFAULT_GAMES if (folder / name).is_file()]
    else:  # vizdoom looks in its own folder too
        games = [own_game if own_game.is_file() else folder / own_game.name]
    scenario = game.get_doom_scenario_path()
    levels: dict[str, None] = {}
    for file in ([Path(scenario)] if scenario else []) + games:
        found = list_maps(file)
        if found is None:
            return []
        levels |= dict.fromkeys(found)
    return list(levels)
