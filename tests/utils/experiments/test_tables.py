import csv
import io
import re
import shutil
import subprocess

import pytest

from utils.experiments.tables import Table, as_latex, escape_latex, write_table

NASTY = Table(
    ("method_name", "mean ± 95 %", "note"),
    (
        ("a_b & c", "1.00 ± 0.50", '50 % of $x^2$ #1 {~} \\ <|> "q"'),
        ("[x]", "-12.50", "*star, comma\nnew line"),
    ),
)


FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs,graphicx,longtable}
\begin{document}
%s
\end{document}
"""


def check_latex(text: str) -> list[list[str]]:
    """Check that a table is well-formed by the rules of TeX, and return its cells."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("%")]
    body = "\n".join(lines)
    names = re.findall(r"\\(begin|end)\{(\w+)\}", body)
    floating = [("begin", "table"), ("begin", "tabular"), ("end", "tabular"), ("end", "table")]
    assert names in (floating, [("begin", "longtable"), ("end", "longtable")])
    body = body.replace(FIT, "{")
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
    known += r"|smallskip|small|endhead|endfoot"
    assert not re.sub(rf"\\({known})(?![a-zA-Z])", "", re.sub(r"\\[()]", "", plain)).count("\\")
    layout = re.search(r"\\begin\{(?:tabular|longtable)\}\{([lr]+)\}", body)
    assert layout is not None
    ends = (line for line in lines if line.rstrip().endswith(r"\\"))
    rows = [line.strip() for line in ends if r"\caption" not in line]
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
    assert cells[2] == ["{}[x]", r"\(-\)12.50", "{}*star, comma new line"]


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


def test_hyphens_are_a_minus_in_numbers_alone():
    table = Table(("a-b", "x"), (("-", "-1.0 [-2.0, 3.0]"), ("1e-05", "-"), ("lin-1", "0")))
    assert check_latex(as_latex(table, caption="x"))[1:] == [
        ["--", r"\(-\)1.0 [\(-\)2.0, 3.0]"],
        ["1e-05", "--"],
        ["lin-1", "0"],
    ]


def test_a_long_table_is_broken_over_pages():
    rows = tuple((str(i), "x_y") for i in range(41))
    assert r"\begin{longtable}{rl}" in as_latex(Table(("i", "name"), rows), caption="Of 41 rows.")
    assert r"\begin{table}" in as_latex(Table(("i", "name"), rows[:40]), caption="Of 40 rows.")
    assert len(check_latex(as_latex(Table(("i", "name"), rows), caption="Of 41 rows."))) == 42


@pytest.mark.skipif(not (TEX := shutil.which("pdflatex") or shutil.which("tectonic")), reason="TeX")
def test_tables_compile_and_fit_the_page(tmp_path):
    wide = Table(tuple("abcdefgh"), (("a rather long cell, wider than any page is",) * 8,) * 3)
    long = Table(("i", "x"), tuple((str(i), "-1.5 [-2.0, 1.0]") for i in range(100)))
    texts = [as_latex(table, caption="50 % of it_") for table in (NASTY, wide, long)]
    (tmp_path / "doc.tex").write_text(DOCUMENT % "\n".join(texts), encoding="utf-8")
    options = (
        ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in TEX else ["--keep-logs"]
    )
    done = subprocess.run(
        [TEX, *options, "doc.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in (tmp_path / "doc.log").read_text(errors="replace")
    assert (tmp_path / "doc.pdf").stat().st_size > 1000
