"""`experiments.py tag`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from utils.errors import UserError
from utils.experiments.commands.options import make_parser, open_runs
from utils.run.labels import Labels, change_labels, check_word

_EPILOG = """\
examples:
  experiments.py tag @last --add paper
  experiments.py tag 20261128-0312 20261128-0314 --add keep --remove draft

A run with the tag `keep` is never cleaned. Tags lie in the run's folder, in labels.json."""


def main(argv: Sequence[str]) -> int:
    """Change the tags of runs."""
    parser = make_parser("tag", "Put tags on runs, or take them off.", epilog=_EPILOG)
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="@last, an id, its beginning, a path"
    )
    parser.add_option("--add", action="append", default=[], metavar="TAG", help="may be repeated")
    parser.add_option("--remove", action="append", default=[], metavar="TAG", help="likewise")
    given = parser.parse_or_refuse(argv)
    if not given.add and not given.remove:
        raise UserError("nothing to do: give --add TAG or --remove TAG")
    added = [check_word(tag, what="--add") for tag in given.add]

    def change(labels: Labels) -> Labels:
        kept = [tag for tag in labels.tags if tag not in given.remove]
        return dataclasses.replace(labels, tags=(*kept, *added))

    for run in open_runs(given.runs, given.runs_dir):
        labels = change_labels(run.path, change)
        print(f"{run.id}: {', '.join(labels.tags) or 'no tags'}")
    return 0
