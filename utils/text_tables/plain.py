"""Rows of cells as aligned lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+~±x<>=]*[\d.,]+(?:[eE][-+]?\d+)?\s*(?:%|x|s|us|ms|k|M)?(?:\s*±.*)?|-|")


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Align cells in columns; a column of numbers stands to the right, any other to the left.

    Args:
        header: Name of each column.
        rows: Cells of each row, as many as there are names.

    Returns:
        Header, a rule and one line per row, without a final line break.
    """
    text = [[str(cell) for cell in row] for row in rows]
    assert all(len(row) == len(header) for row in text), (header, text)
    columns = [list(column) for column in zip(*text, strict=True)] or [[] for _ in header]
    widths = [max(map(len, [name, *cells])) for name, cells in zip(header, columns, strict=True)]
    is_right = [bool(cells) and all(map(_NUMBER.fullmatch, cells)) for cells in columns]
    lines = [_join(header, widths, is_right), "  ".join("-" * width for width in widths)]
    return "\n".join([*lines, *(_join(row, widths, is_right) for row in text)])


def _join(cells: Sequence[str], widths: Sequence[int], is_right: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, is_right, strict=True)
    ]
    return "  ".join(parts).rstrip()
