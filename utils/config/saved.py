"""Configs as runs save them: JSON with a schema version, from which the run is rebuilt."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from utils.config.algos import CONFIG_CLASSES
from utils.config.messages import problems_of
from utils.config.migrations import migrate
from utils.config.schema import Config
from utils.config.yaml_reader import display_path
from utils.errors import ConfigError


def config_from_dict(
    data: Mapping[str, Any], *, source: str = "saved config", written: Collection[str] = ()
) -> Config:
    """Rebuild a config from what `Config.to_dict` returned, in this version or an older one.

    Args:
        data: The saved settings, with `schema_version`; an older form is migrated.
        source: How messages name where they come from.
        written: Dotted keys that somebody wrote over the saved ones.

    Returns:
        A config equal to the one that was saved.

    Raises:
        ConfigError: The version is newer than this program, or a setting is missing or invalid;
            one line per problem.
    """
    settings = migrate(data, source=source)
    del settings["schema_version"]
    algo_id = settings.get("algo_id")
    if not isinstance(algo_id, str) or algo_id not in CONFIG_CLASSES:
        known = ", ".join(CONFIG_CLASSES)
        raise ConfigError(f"{source}: unknown algo_id {algo_id!r} (known: {known})")
    config_class = CONFIG_CLASSES[algo_id]
    try:
        return _forget_who_wrote(config_class.model_validate(settings), written)
    except ValidationError as error:
        problems = problems_of(error, config_class, siblings={})
        lines = [f"{source}: {problem.message}" for problem in problems]
        raise ConfigError("\n".join(lines)) from error


_JUDGED_BY_SPACES = ("policy_kwargs", "exploration")


def _forget_who_wrote(config: Config, written: Collection[str]) -> Config:
    """Mark only these options of the networks as written: a saved config holds the defaults too.

    An option that has no effect for the spaces of the environment is refused where somebody wrote
    it, which was when the run began.
    """
    blocks = {key: getattr(config, key) for key in _JUDGED_BY_SPACES if hasattr(config, key)}
    unwritten = {
        key: type(block).model_construct(_fields_set=_inside(key, written), **dict(block))
        for key, block in blocks.items()
    }
    return config.model_copy(update=unwritten)


def _inside(block: str, written: Collection[str]) -> set[str]:
    return {key.removeprefix(f"{block}.") for key in written if key.startswith(f"{block}.")}


def load_config_json(path: Path | str) -> Config:
    """Rebuild the config of a run from its `config.json`.

    Raises:
        ConfigError: The file cannot be read, is no JSON object, or see config_from_dict.
    """
    source = display_path(Path(path))
    return config_from_dict(read_saved_config(path), source=source)


def read_saved_config(path: Path | str) -> dict[str, Any]:
    """Return what a `config.json` holds, in the form in which it was saved.

    Raises:
        ConfigError: The file cannot be read or is no JSON object.
    """
    source = display_path(Path(path))
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{source}: cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        where = f"{source}:{error.lineno}:{error.colno}"
        raise ConfigError(f"{where}: not valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{source}: must hold a JSON object")
    return data
