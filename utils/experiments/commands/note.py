"""`experiments.py note`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from utils.experiments.commands.options import make_parser, open_runs
from utils.run.labels import change_labels

_EPILOG = """\
examples:
  experiments.py note @last "lower entropy from here on"
  experiments.py note @last ""            takes the note away"""


def main(argv: Sequence[str]) -> int:
    """Replace the note of a run."""
    parser = make_parser("note", "Write a note on a run; it replaces the last one.", epilog=_EPILOG)
    parser.add_argument("run", metavar="RUN", help="@last, an id, its beginning, a path")
    parser.add_argument("text", metavar="TEXT", help="the note")
    given = parser.parse_or_refuse(argv)
    (run,) = open_runs([given.run], given.runs_dir)
    note = given.text.strip()
    change_labels(run.path, lambda labels: dataclasses.replace(labels, note=note))
    print(f"{run.id}: {note}" if note else f"{run.id}: no note")
    return 0
