"""Tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from utils.reports.sections import markdown_table

FORMATS = ("csv", "md", "tex")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "±": r"\(\pm\)",
    "…": r"\ldots{}",
    "τ": r"\(\tau\)",
    "→": r"\(\to\)",
    "\u2013": "--",
    "\u2014": "---",
}
_NUMERIC = re.compile(r"-|[-+]?[\d.,]+(e[-+]?\d+)?( ± [\d.,]+)?( \[[-\d., ]+\])?")
_HYPHEN = re.compile(r"(?<!e)-")
_LONGEST_FLOAT = 40
"""Rows of a table that still fits one page."""


@dataclass(frozen=True, slots=True)
class Table:
    """Names of columns and rows of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def write_table(table: Table, form: str, *, caption: str) -> str:
    """Return a table as text of one of `FORMATS`.

    Args:
        table: All rows as long as the header.
        form: The format.
        caption: What the table shows; LaTeX and Markdown tell it.
    """
    assert all(len(row) == len(table.header) for row in table.rows), table.header
    if form == "csv":
        return _as_csv(table)
    if form == "md":
        return f"{caption}\n\n{markdown_table(table.header, table.rows)}\n"
    return as_latex(table, caption=caption)


def _as_csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(table.rows)
    return text.getvalue()


def as_latex(table: Table, *, caption: str) -> str:
    """Return a table in rules of booktabs; numbers stand to the right.

    One that fits a page floats, and is made smaller where it is wider than the text; a longer one
    is broken over pages.
    """
    columns = [[row[i] for row in table.rows] for i in range(len(table.header))]
    layout = "".join("r" if _is_numeric(cells) else "l" for cells in columns)
    head, rows = _latex_row(table.header), [_latex_row(row) for row in table.rows]
    write = _floating if len(rows) <= _LONGEST_FLOAT else _broken
    return "\n".join(write(layout, head, rows, escape_latex(caption))) + "\n"


def _floating(layout: str, head: str, rows: Sequence[str], caption: str) -> list[str]:
    return [
        "% needs \\usepackage{booktabs,graphicx}",
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{caption}}}",
        "  \\smallskip",
        "  \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
        f"  \\begin{{tabular}}{{{layout}}}",
        "    \\toprule",
        f"    {head}",
        "    \\midrule",
        *(f"    {row}" for row in rows),
        "    \\bottomrule",
        "  \\end{tabular}}",
        "\\end{table}",
    ]


def _broken(layout: str, head: str, rows: Sequence[str], caption: str) -> list[str]:
    return [
        "% needs \\usepackage{booktabs,longtable}",
        "{\\small",
        f"\\begin{{longtable}}{{{layout}}}",
        f"  \\caption{{{caption}}} \\\\",
        "  \\toprule",
        f"  {head}",
        "  \\midrule",
        "  \\endhead",
        "  \\bottomrule",
        "  \\endfoot",
        *(f"  {row}" for row in rows),
        "\\end{longtable}}",
    ]


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is.

    Letters outside ASCII stay as they are: every engine of today reads UTF-8.
    """
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _latex_row(cells: Sequence[str]) -> str:
    # A bracket at the beginning would be read as an argument of the line break before it.
    escaped = [
        f"{{}}{cell}" if cell.startswith(("[", "*")) else cell for cell in map(_latex_cell, cells)
    ]
    return " & ".join(escaped) + r" \\"


def _latex_cell(cell: str) -> str:
    """Escape a cell; in numbers a hyphen is a minus, and alone it is a dash."""
    if cell == "-":
        return "--"
    escaped = escape_latex(cell)
    return _HYPHEN.sub(r"\(-\)", escaped) if _NUMERIC.fullmatch(cell) else escaped


def _is_numeric(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)
