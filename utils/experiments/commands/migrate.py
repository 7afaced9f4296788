"""`experiments.py migrate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from utils.config import SCHEMA_VERSION, config_from_dict
from utils.config.migrations import read_version
from utils.config.saved import read_saved_config
from utils.errors import ConfigError, UserError
from utils.experiments.commands.options import make_parser, open_runs
from utils.run import Run, list_runs
from utils.run.lock import RunLock
from utils.storage import write_bytes, write_json

_EPILOG = """\
Runs of older programs are read as they are; nothing has to be migrated. What is rewritten is
config.json alone, and the one before stays beside it as config.version_N.json."""


def main(argv: Sequence[str]) -> int:
    """Rewrite the configs of older programs."""
    parser = make_parser("migrate", "Rewrite configs of older programs.", epilog=_EPILOG)
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="which (default: all that are older)"
    )
    parser.add_option("--dry-run", action="store_true", help="say what would be done")
    given = parser.parse_or_refuse(argv)
    runs = open_runs(given.runs, given.runs_dir) if given.runs else list_runs(given.runs_dir)
    n_done, problems = 0, []
    for run in runs:
        try:
            n_done += migrate_run(run, is_dry_run=given.dry_run)
        except ConfigError as error:
            problems += str(error).splitlines()
    if n_done or not problems:
        print(_describe(n_done, len(runs), runs_dir=given.runs_dir, is_dry_run=given.dry_run))
    if problems:
        raise UserError("\n".join(problems))
    return 0


def _describe(n_done: int, n_runs: int, *, runs_dir: Path, is_dry_run: bool) -> str:
    if not n_runs:
        return f"nothing to migrate: there are no runs in '{runs_dir}'"
    if not n_done:
        whose = "the run's config is" if n_runs == 1 else f"the configs of all {n_runs} runs are"
        return f"nothing to migrate: {whose} of version {SCHEMA_VERSION}, which is today's"
    what = "would be migrated" if is_dry_run else "migrated"
    return f"{n_done} of {n_runs} runs {what} to version {SCHEMA_VERSION}"


def migrate_run(run: Run, *, is_dry_run: bool) -> bool:
    """Rewrite the config of a run in the present form; says whether it was an older one.

    Raises:
        ConfigError: It cannot be read, or a process trains the run.
        StorageError: The folder cannot be written; the config is as it was.
    """
    saved = read_saved_config(run.config_path)
    version = read_version(saved, source=str(run.config_path))
    if version == SCHEMA_VERSION:
        return False
    config = config_from_dict(saved, source=str(run.config_path))
    backup = run.path / f"config.version_{version}.json"
    print(f"{run.id}: version {version} to {SCHEMA_VERSION}, backup {backup.name}")
    if is_dry_run:
        return True
    with RunLock(run.path):
        write_bytes(backup, run.config_path.read_bytes())
        write_json(run.config_path, config.to_dict())
    return True
