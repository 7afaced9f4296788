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
    """Return a floating table in rules of booktabs; numbers stand to the right."""
    columns = [[row[i] for row in table.rows] for i in range(len(table.header))]
    layout = "".join("r" if _is_numeric(cells) else "l" for cells in columns)
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{escape_latex(caption)}}}",
        f"  \\begin{{tabular}}{{{layout}}}",
        "    \\toprule",
        f"    {_latex_row(table.header)}",
        "    \\midrule",
        *(f"    {_latex_row(row)}" for row in table.rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        "\\end{table}",
        "",
    ]
    return "\n".join(lines)


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is.

    Letters outside ASCII stay as they are: every engine of today reads UTF-8.
    """
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _latex_row(cells: Sequence[str]) -> str:
    # A bracket at the beginning would be read as an argument of the line break before it.
    escaped = [
        f"{{}}{cell}" if cell.startswith(("[", "*")) else cell for cell in map(escape_latex, cells)
    ]
    return " & ".join(escaped) + r" \\"


def _is_numeric(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_NUMERIC.fullmatch(cell) for cell in cells)
