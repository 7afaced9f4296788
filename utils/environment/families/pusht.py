"""PushT, of the package gym-pusht: a tool pushes a T-shaped block onto its place."""

from __future__ import annotations

import contextlib
import io


def register() -> None:
    """Make the ids of gym-pusht known to Gymnasium."""
    with contextlib.redirect_stdout(io.StringIO()):  # pygame greets
        import gym_pusht  # noqa: F401 - importing it registers the ids
