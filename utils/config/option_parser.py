"""An argument parser whose messages are user errors and name the nearest option."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from utils.config.problems import did_you_mean
from utils.errors import UserError


class OptionParser(argparse.ArgumentParser):
    """Reports a misused command line as a UserError, and knows the names of its options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.option_names: list[str] = ["--help"]

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print before it leaves."""
        raise UserError(f"{message} (see {self.prog} --help)")

    def add_option(self, *names: str, **options: Any) -> None:
        """Add an option, and accept underscores for the hyphens inside its name."""
        self.add_argument(*names, **options)
        self.option_names.extend(names)
        for name in names:
            twin = "--" + name.removeprefix("--").replace("-", "_")
            if name.startswith("--") and twin != name:
                dest = options.get("dest", twin.removeprefix("--"))
                self.add_argument(twin, **{**options, "dest": dest, "help": argparse.SUPPRESS})

    def find_unknown(self, rest: Sequence[str]) -> list[str]:
        """Return one line per argument that `parse_known_args` left over."""
        options = [argument.partition("=")[0] for argument in rest if argument.startswith("-")]
        if options:
            # What else is left over may be the value of one of these.
            names = self.option_names
            return [f"unknown option '{option}'{did_you_mean(option, names)}" for option in options]
        can_set = "--set" in self.option_names
        return [
            f"unexpected argument '{argument}'"
            + (f": did you mean '--set {argument}'?" if can_set and "=" in argument else "")
            for argument in rest
        ]

    def parse_or_refuse(self, argv: Sequence[str] | None = None) -> argparse.Namespace:
        """Read a whole command line, where no further rules apply.

        Args:
            argv: The arguments; None for those of the process.

        Raises:
            UserError: An argument is unknown or its value wrong; one line per problem.
        """
        given, rest = self.parse_known_args(argv)
        if problems := self.find_unknown(rest):
            raise UserError("\n".join(problems))
        return given
