"""Errors that a person can mend, and the one place that turns them into an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable


class UserError(Exception):
    """A mistake that the person at the command line can mend.

    The message is what they see: one line (or one line per problem) that says what is wrong,
    where, and how to mend it.
    """

    exit_code = 2


class ConfigError(UserError):
    """One or more problems in a config file or an override; one line each."""


class RunNotFoundError(UserError):
    """A run reference (`@last`, an id or a path) that leads to no loadable run."""


class CheckpointError(UserError):
    """A checkpoint that is missing, cut short, or made for another model."""


class MissingDependencyError(UserError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package '{package}': "
            f"install it with  pip install 'gymnasium-solver[{extra}]'"
        )


class MissingAssetError(UserError):
    """A file that does not come with the program (a game's ROM, a dataset) is needed and absent."""


class RunFailedError(UserError):
    """Training cannot go on through no fault of the command line."""

    exit_code = 3


class EnvironmentFailedError(RunFailedError):
    """An environment raised, hung, died or returned numbers that cannot be used."""


class DivergedError(RunFailedError):
    """A loss, gradient or weight is no longer finite."""


class StorageError(RunFailedError):
    """The run folder cannot be written: a full disk, a read-only folder."""


def exit_on_user_error(main: Callable[[], int | None]) -> None:
    """Run `main` and leave the process with its exit code; print a UserError as plain lines.

    Args:
        main: The entry point. It returns an exit code (None means 0).

    Raises:
        SystemExit: Always. 0 is success, 2 a mistake in what was asked, 3 a run that failed,
            130 an interrupt.
    """
    try:
        code = main() or 0
    except UserError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        # The reader of our output (head, less) went away; there is nobody left to tell.
        sys.stderr.close()
        code = 141
    sys.exit(code)
