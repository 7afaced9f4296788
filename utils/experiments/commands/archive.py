"""`experiments.py archive`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from utils.errors import UserError
from utils.experiments.archives import (
    compression_of,
    read_index,
    remove_archived,
    restore_archive,
    write_archive,
)
from utils.experiments.commands.options import (
    add_filters,
    find_records,
    is_confirmed,
    make_parser,
)
from utils.text_tables import counted

_EPILOG = """\
examples:
  experiments.py archive tag=paper --out paper.tar.gz
  experiments.py archive status=completed --out old.tar.xz --remove
  experiments.py archive --list paper.tar.gz
  experiments.py archive --restore paper.tar.gz --runs-dir other/runs

Every file is there again bit for bit, with its checksum checked. .tar.gz is fast, .tar.xz small."""


def main(argv: Sequence[str]) -> int:
    """Put runs into one file, look into one, or get runs back."""
    parser = make_parser("archive", "Put runs into one file, and back.", epilog=_EPILOG)
    add_filters(parser)
    parser.add_option("--out", type=Path, metavar="FILE", help="archive to write")
    parser.add_option("--remove", action="store_true", help="with --out: remove the runs after it")
    parser.add_option("--yes", action="store_true", help="with --remove: do not ask")
    parser.add_option("--list", type=Path, metavar="FILE", help="show what an archive holds")
    parser.add_option("--restore", type=Path, metavar="FILE", help="put its runs into --runs-dir")
    given = parser.parse_or_refuse(argv)
    chosen = [name for name in ("out", "list", "restore") if getattr(given, name) is not None]
    if len(chosen) != 1:
        raise UserError("give one of --out FILE, --list FILE and --restore FILE")
    if chosen[0] != "out" and (given.filters or given.remove):
        raise UserError(f"filters and --remove have no effect with --{chosen[0]}")
    if given.yes and not given.remove:
        raise UserError("--yes has no effect without --remove")
    if given.list is not None:
        return _list(given.list)
    if given.restore is not None:
        return _restore(given.restore, given.runs_dir)
    return _archive(given)


def _archive(given: argparse.Namespace) -> int:
    compression_of(given.out)
    if not given.filters:
        raise UserError("which runs? give filters, such as tag=paper, or status=completed")
    runs = [record.run for record in find_records(given.runs_dir, given.filters)]
    if given.out.exists():
        raise UserError(f"'{given.out}' is there already; choose another name or remove it")
    what = counted(len(runs), "run")
    question = f"archive {what} and remove their folders?"
    if given.remove and not given.yes and not is_confirmed(question):
        print("nothing was done")
        return 0
    n_files = write_archive(given.out, runs)
    size = given.out.stat().st_size / 1e6
    print(f"{what}, {n_files} files, {size:,.1f} MB written to {given.out}")
    if given.remove:
        left = remove_archived(given.out, runs)
        n_removed = len(runs) - len(left)
        print(f"removed the folders of {counted(n_removed, 'run')}")
        for reason in left:
            print(f"note: not removed: {reason}", file=sys.stderr)
    return 0


def _list(path: Path) -> int:
    index = read_index(path)
    for run_id, files in index.items():
        print(f"{run_id}  {len(files)} files")
    print(counted(len(index), "run"))
    return 0


def _restore(path: Path, runs_dir: Path) -> int:
    for restored in restore_archive(path, runs_dir):
        note = "restored" if restored.is_new else "is there already, the same in every file"
        print(f"{runs_dir / restored.run_id}  {note}")
    return 0
