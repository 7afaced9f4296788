"""Numbers with what they count."""

from __future__ import annotations


def counted(n: int, noun: str, *, plural: str | None = None) -> str:
    """Return `1 epoch` or `1,024 epochs`.

    Args:
        n: How many, >= 0.
        noun: What, in the singular.
        plural: What, in the plural; None for the noun and an s.
    """
    return f"1 {noun}" if n == 1 else f"{n:,} {plural or f'{noun}s'}"
