"""All runs of a folder, and how a person names one of them."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from utils.errors import RunNotFoundError
from utils.run.run import CONFIG_NAME, Run
from utils.storage import read_json

_MAX_NAMED = 5


def list_runs(runs_dir: Path | str) -> list[Run]:
    """Return the runs of a folder, newest first.

    A run is a folder with a `config.json`. Its age is the date and time at the beginning of its id;
    of one second, a higher number at the end is newer. Folders with other names are older than all
    these, by the age of the file, which copying changes.
    """
    configs = Path(runs_dir).glob(f"*/{CONFIG_NAME}")
    return [Run(config.parent) for config in sorted(configs, key=_age_key, reverse=True)]


def _age_key(config: Path) -> tuple[str, int, int, str]:
    name, modified = config.parent.name, config.stat().st_mtime_ns
    match = re.fullmatch(r"(\d{8}-\d{6})-.*?(?:-(\d+))?", name)
    if match is None:
        return "", 0, modified, name
    return match[1], int(match[2] or 1), modified, name


def split_reference(reference: str) -> tuple[str, str | None]:
    """Split `<run>[/@best|/@last|/epoch=XX]` into the run and the checkpoint.

    Returns:
        The reference of the run, and that of the checkpoint or None.
    """
    run, _, tail = reference.rpartition("/")
    if run and (tail in ("@best", "@last") or tail.startswith("epoch=")):
        return run, tail.removesuffix(".ckpt")
    return reference, None


def find_run(reference: str, runs_dir: Path, *, needs_checkpoint: bool) -> Run:
    """See `Run.open`."""
    if reference == "@last":
        return _newest(runs_dir, needs_checkpoint=needs_checkpoint)
    if reference and (os.sep in reference or (Path(reference) / CONFIG_NAME).is_file()):
        return _at_path(Path(reference))
    runs = list_runs(runs_dir)
    matches = [run for run in runs if run.id == reference] or [
        run for run in runs if reference and run.id.startswith(reference)
    ]
    if len(matches) == 1:
        return matches[0]
    raise RunNotFoundError(_explain(reference, runs_dir, matches, runs))


def _newest(runs_dir: Path, *, needs_checkpoint: bool) -> Run:
    runs = list_runs(runs_dir)
    for run in runs:
        if run.has_checkpoint() if needs_checkpoint else read_json(run.config_path) is not None:
            return run
    if not runs:
        raise RunNotFoundError(f"there is no run in '{runs_dir}'; train one first")
    raise RunNotFoundError(f"none of the {len(runs)} runs in '{runs_dir}' can be loaded")


def _at_path(path: Path) -> Run:
    if not (path / CONFIG_NAME).is_file():
        raise RunNotFoundError(f"'{path}' is not the folder of a run: it has no {CONFIG_NAME}")
    return Run(path)


def _explain(reference: str, runs_dir: Path, matches: list[Run], runs: list[Run]) -> str:
    if matches:
        names = _shorten([run.id for run in matches])
        return f"'{reference}' fits {len(matches)} runs in '{runs_dir}': {names}"
    if not runs:
        return f"there is no run '{reference}': '{runs_dir}' holds no runs"
    ids = [run.id for run in runs]
    close = difflib.get_close_matches(reference, ids, n=3, cutoff=0.5)
    hint = f"did you mean {_shorten(close)}?" if close else f"the newest are {_shorten(ids)}"
    return f"there is no run '{reference}' in '{runs_dir}'; {hint}"


def _shorten(names: list[str]) -> str:
    more = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join([*names[:_MAX_NAMED], *more])
