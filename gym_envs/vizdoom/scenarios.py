"""Which scenarios there are: those that ship with vizdoom, and a folder of one's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from utils.errors import ConfigError

SCENARIOS_DIR = "VIZDOOM_SCENARIOS_DIR"
"""Name of the environment variable that leads to a folder of scenarios (`.cfg` with `.wad`)."""

# Left out of the package's folder: those for several players (cig, multi, multi_duel), those whose
# game is not free (doom, doom2) or whose levels must be made first (oblige), and those that differ
# from basic by what no policy here sees (basic_audio, basic_notifications, learning).
BUNDLED = (
    "basic",
    "deadly_corridor",
    "deathmatch",
    "defend_the_center",
    "defend_the_line",
    "freedoom1",
    "freedoom2",
    "health_gathering",
    "health_gathering_supreme",
    "my_way_home",
    "predict_position",
    "rocket_basic",
    "simpler_basic",
    "take_cover",
)


def list_scenarios(
    bundled: Path, *, environ: Mapping[str, str] = os.environ
) -> dict[str, Path | None]:
    """Return the config file of each environment id, `VizDoom-Custom` (None) among them.

    A file in the folder of one's own replaces a bundled scenario of the same name.

    Args:
        bundled: Folder of the scenarios that ship with the vizdoom package.
        environ: Where `VIZDOOM_SCENARIOS_DIR` is looked up.

    Raises:
        ConfigError: That folder does not exist.
    """
    found: dict[str, Path | None] = {"VizDoom-Custom": None}
    found |= {_env_id(name): bundled / f"{name}.cfg" for name in BUNDLED}
    folder = environ.get(SCENARIOS_DIR)
    if folder:
        if not Path(folder).is_dir():
            raise ConfigError(f"{SCENARIOS_DIR}: there is no folder {folder}")
        files = sorted(Path(folder).resolve().glob("*.cfg"))
        found |= {_env_id(file.stem): file for file in files}
    return found


def _env_id(name: str) -> str:
    """Return the id of a scenario: `defend_the_line` becomes `VizDoom-DefendTheLine`."""
    words = name.replace("-", "_").replace(" ", "_").split("_")
    return "VizDoom-" + "".join(word[:1].upper() + word[1:] for word in words)


def find_config(path: str | os.PathLike[str] | None) -> Path:
    """Return the absolute path of a scenario's config file.

    Raises:
        ConfigError: There is none.
    """
    if path is None:
        raise ConfigError(
            "env_kwargs: VizDoom-Custom needs config_path, the .cfg file of a scenario (or set "
            f"{SCENARIOS_DIR} to a folder of them: its my_maze.cfg is then VizDoom-MyMaze)"
        )
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise ConfigError(f"env_kwargs: config_path: there is no file {file}")
    return file
