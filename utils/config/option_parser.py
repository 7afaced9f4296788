"""An argument parser whose messages are user errors and name the nearest option."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from utils.config.problems import did_you_mean
from utils.errors import UserError


def whole_number(*, least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers >= `least`, which may be written as 1e5."""

    def read(text: str) -> int:
        value = _finite_number(text)
        if value is None or not value.is_integer() or value < least:
            raise argparse.ArgumentTypeError(f"must be a whole number >= {least}")
        return int(text) if text.isdecimal() else int(value)

    return read


def positive_number(text: str) -> float:
    """Read a number > 0."""
    value = _finite_number(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError("must be a number > 0")
    return value


def _finite_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class OptionParser(argparse.ArgumentParser):
    """Reports a misused command line as a UserError, and knows the names of its options.

    Attributes:
        option_names: Every option, for hints.
        faults: One line per value that its reader refused, of the command line read last.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.option_names: list[str] = ["--help"]
        self.faults: list[str] = []

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print before it leaves."""
        raise UserError(f"{message} (see {self.prog} --help)")

    def add_option(self, *names: str, **options: Any) -> None:
        """Add an option, and accept underscores for the hyphens inside its name.

        A value that the option's `type` refuses by an ArgumentTypeError is noted in `faults`, so
        that all faults can be told at once.
        """
        if "type" in options:
            options["type"] = self._noting_faults(names[-1], options["type"])
        self.add_argument(*names, **options)
        self.option_names.extend(names)
        for name in names:
            twin = "--" + name.removeprefix("--").replace("-", "_")
            if name.startswith("--") and twin != name:
                dest = options.get("dest", twin.removeprefix("--"))
                self.add_argument(twin, **{**options, "dest": dest, "help": argparse.SUPPRESS})

    def _noting_faults(self, name: str, reader: Callable[[str], Any]) -> Callable[[str], Any]:
        def read(text: str) -> Any:
            try:
                return reader(text)
            except argparse.ArgumentTypeError as error:
                self.faults.append(f"{name} {text}: {error}")
                return None

        return read

    def read(self, argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, list[str]]:
        """Read a whole command line; what its readers refuse is in `faults` then.

        Args:
            argv: The arguments; None for those of the process.

        Returns:
            The options, and one line per argument that is not known.
        """
        self.faults.clear()
        given, rest = self.parse_known_args(argv)
        return given, self.find_unknown(rest)

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
        given, unknown = self.read(argv)
        if problems := [*unknown, *self.faults]:
            raise UserError("\n".join(problems))
        return given
