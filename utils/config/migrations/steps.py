"""The steps in order, and the walk over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from utils.config.migrations.version_1 import fill_in_later_settings
from utils.errors import ConfigError

Step = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: dict[int, Step] = {1: fill_in_later_settings}
"""For each older version, the function that turns its form into that of the next."""
SCHEMA_VERSION = max(MIGRATIONS) + 1
"""Version of the saved form; a step is added whenever saved configs must be changed to mean what
they meant: a setting gets another name or unit, or a default that older runs rely on changes."""


def read_version(settings: Mapping[str, Any], *, source: str) -> int:
    """Return the schema version of a saved config.

    Raises:
        ConfigError: There is none, or it is newer than this program.
    """
    version = settings.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ConfigError(f"{source}: 'schema_version' must be a whole number >= 1, got {version}")
    if version > SCHEMA_VERSION:
        raise ConfigError(
            f"{source}: written by a newer program (schema version {version}, this one reads up "
            f"to {SCHEMA_VERSION}): update the program"
        )
    return version


def migrate(settings: Mapping[str, Any], *, source: str) -> dict[str, Any]:
    """Bring a saved config into the present form, step by step.

    Args:
        settings: As it was saved, with `schema_version`; it is left as it is.
        source: How messages name where it comes from.

    Returns:
        The settings in the present form, `schema_version` first.

    Raises:
        ConfigError: See `read_version`.
    """
    version = read_version(settings, source=source)
    migrated = {key: value for key, value in settings.items() if key != "schema_version"}
    for older in range(version, SCHEMA_VERSION):
        migrated = MIGRATIONS[older](migrated)
    return {"schema_version": SCHEMA_VERSION, **migrated}
