"""Lines of several parts in less room than they need."""

from __future__ import annotations

import re

_GAP = re.compile(r" {2,}")


def fit_parts(text: str, columns: int, *, keeps_last: bool = False) -> str:
    """Leave out parts of a line, whole ones, until it fits.

    Args:
        text: Parts with two or more spaces between them, the most important first.
        columns: Most characters.
        keeps_last: The last part matters most, such as the key that leaves.

    Returns:
        The line as it is where it fits; else at least one part, cut if need be.
    """
    if len(text) <= columns:
        return text
    parts = _GAP.split(text)
    last = [parts.pop()] if keeps_last else []
    kept: list[str] = []
    for part in parts:
        if len("  ".join([*kept, part, *last])) > columns:
            break
        kept.append(part)
    return "  ".join([*kept, *last] or parts[:1])[:columns]
