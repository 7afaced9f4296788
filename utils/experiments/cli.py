"""The command line of `scripts/experiments.py`: one command, its own options."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from utils.config.problems import did_you_mean
from utils.errors import UserError

COMMANDS = {
    "list": ("list_runs", "runs as a table: filters, sorting, columns"),
    "show": ("show", "all about one run, or about a group of seeds"),
    "tag": ("label", "put tags on runs, or take them off"),
    "note": ("note", "write a note on a run"),
    "compare": ("compare", "methods beside each other: intervals, IQM, settings that differ"),
    "plot": ("plot", "curves, scores or profiles as PNG and SVG for papers"),
    "export": ("export", "runs, aggregates or curves as CSV, Markdown or LaTeX"),
    "verify": ("verify", "train a run again and compare every number"),
    "migrate": ("migrate", "rewrite configs of older programs, with a backup"),
    "clean": ("clean", "remove checkpoints and films of all but the best and the newest runs"),
    "archive": ("archive", "put runs into one file, and get them back"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Find the command and let it work.

    Raises:
        UserError: There is no such command, or see the command.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ("-h", "--help"):
        print(_usage())
        return 0
    if argv[0] not in COMMANDS:
        if argv[0].startswith("-"):
            known = ", ".join(COMMANDS)
            raise UserError(f"unknown option '{argv[0]}' before a command (known: {known})")
        hint = did_you_mean(argv[0], COMMANDS)
        raise UserError(f"unknown command '{argv[0]}'{hint} (known: {', '.join(COMMANDS)})")
    module = importlib.import_module(f"utils.experiments.commands.{COMMANDS[argv[0]][0]}")
    code: int = module.main(argv[1:])
    return code


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: experiments.py COMMAND [...]",
            "",
            "Work with finished runs.",
            "",
            *lines,
            "",
            "examples:",
            "  experiments.py list algo=ppo env=CartPole-v1 status=completed --sort test",
            "  experiments.py compare env=CartPole-v1 --by variant",
            "  experiments.py verify @last",
            "",
            "experiments.py COMMAND --help tells the options of a command.",
        ]
    )
