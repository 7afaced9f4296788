import csv
import io
import re

import pytest

from utils.experiments.tables import Table, as_latex, escape_latex, write_table

NASTY = Table(
    ("method_name", "mean ± 95 %", "note"),
    (
        ("a_b & c", "1.00 ± 0.50", '50 % of $x^2$ #1 {~} \\ <|> "q"'),
        ("[x]", "-12.50", "*star, comma\nnew line"),
    ),
)


def check_latex(text: str) -> list[list[str]]:
    """Check that a table is well-formed by the rules of TeX, and return its cells."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("%")]
    body = "\n".join(lines)
    names = re.findall(r"\\(begin|end)\{(\w+)\}", body)
    assert names == [
        ("begin", "table"),
        ("begin", "tabular"),
        ("end", "tabular"),
        ("end", "table"),
    ]
    plain = re.sub(r"\\[\\{}&%$#_]", "", body)
    assert not re.search(r"[#$^~<>|\"%]", plain), plain
    assert "_" not in plain
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    known = r"begin|end|centering|caption|toprule|midrule|bottomrule|textbackslash|textasciitilde"
    known += r"|textasciicircum|textless|textgreater|textbar|ldots|pm|tau|to"
    assert not re.sub(rf"\\({known})(?![a-zA-Z])", "", re.sub(r"\\[()]", "", plain)).count("\\")
    layout = re.search(r"\\begin\{tabular\}\{([lr]+)\}", body)
    assert layout is not None
    rows = [line.strip() for line in lines if line.rstrip().endswith(r"\\")]
    cells = [re.split(r"(?<!\\)&", row.removesuffix(r"\\")) for row in rows]
    assert {len(row) for row in cells} == {len(layout[1])}
    assert not any(row[0].strip().startswith(("[", "*")) for row in cells)
    return [[cell.strip() for cell in row] for row in cells]


def test_latex_is_escaped_and_well_formed():
    cells = check_latex(as_latex(NASTY, caption="All of it: 95 % & more_"))
    assert cells[1][0] == r"a\_b \& c"
    assert cells[1][1] == r"1.00 \(\pm\) 0.50"
    assert cells[1][2] == (
        r"50 \% of \$x\textasciicircum{}2\$ \#1 \{\textasciitilde{}\} \textbackslash{} "
        r"\textless{}\textbar{}\textgreater{} ''q''"
    )
    assert cells[2] == ["{}[x]", "-12.50", "{}*star, comma new line"]


def test_the_check_of_latex_can_fail():
    text = as_latex(NASTY, caption="x")
    for wrong in (
        text.replace(r"\&", "&"),
        text.replace(r"\_", "_"),
        text.replace(r"\end{table}", ""),
        text.replace(r"\{", "{"),
        text.replace("{}[x]", "[x]"),
    ):
        with pytest.raises(AssertionError):
            check_latex(wrong)


def test_numbers_stand_to_the_right():
    assert r"\begin{tabular}{lrl}" in as_latex(NASTY, caption="x")


def test_every_special_character_has_a_way():
    text = "".join(map(chr, range(32, 127)))
    check_latex(as_latex(Table((text,), ((text,),)), caption=text))
    assert escape_latex("a\u2013b") == "a--b"


def test_csv_reads_back_as_it_was():
    rows = list(csv.reader(io.StringIO(write_table(NASTY, "csv", caption="x"))))
    assert [tuple(row) for row in rows] == [NASTY.header, *NASTY.rows]


def test_markdown():
    text = write_table(NASTY, "md", caption="All of it.")
    assert text.startswith("All of it.\n\n| method_name | mean ± 95 % | note |\n")
    assert "\\|" in text
