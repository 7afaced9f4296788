"""Saved configs of older programs: one step for each version, each from its form to the next."""

from utils.config.migrations.steps import MIGRATIONS, SCHEMA_VERSION, migrate, read_version

__all__ = ["MIGRATIONS", "SCHEMA_VERSION", "migrate", "read_version"]
