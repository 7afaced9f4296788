import pytest

from utils.config.yaml_reader import parse_value, parse_yaml, read_yaml
from utils.errors import ConfigError


def value_of(text):
    return parse_yaml(f"key: {text}\n", label="file").data["key"]


def problems_of(text):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, label="file")
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-3", 0.001),
        ("3e-4", 0.0003),
        ("1e5", 100000.0),
        ("1.e5", 100000.0),
        ("1e+5", 100000.0),
        ("1.0e-3", 0.001),
        (".5", 0.5),
        ("-2E1", -20.0),
        ("1.", 1.0),
        ("!!float 1e6", 1000000.0),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
    ],
)
def test_floats_of_yaml_1_2_are_floats(text, expected):
    value = value_of(text)
    assert type(value) is float
    assert value == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("-7", -7), ("1_000_000", 1000000), ("!!int '8'", 8)]
)
def test_integers(text, expected):
    value = value_of(text)
    assert type(value) is int
    assert value == expected


@pytest.mark.parametrize(
    "text",
    ["off", "on", "yes", "no", "Y", "12:30", "1:30:00", "010", "0x1F", "2024-01-01", "1e", "="],
)
def test_what_yaml_1_1_makes_of_words_and_clocks_stays_text(text):
    assert value_of(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("none", "none")],
)
def test_truth_values_and_nothing(text, expected):
    assert value_of(text) is expected or value_of(text) == expected


def test_quotes_keep_text():
    assert value_of("'1e-3'") == "1e-3"
    assert value_of('"true"') == "true"


def test_every_key_and_entry_has_its_line():
    document = parse_yaml("a: 1\nb:\n  c: 2\n  d:\n    - x\n    - y\n", label="file")
    assert document.data == {"a": 1, "b": {"c": 2, "d": ["x", "y"]}}
    assert document.place(("a",)) == "file:1"
    assert document.place(("b", "c")) == "file:3"
    assert document.place(("b", "d", "1")) == "file:6"
    assert document.place(("b", "absent")) == "file:2"


def test_anchors_and_merges_work_and_own_keys_win():
    text = (
        "_one: &one {a: 1, b: 1}\n"
        "_two: &two {b: 2, c: 2}\n"
        "x:\n"
        "  <<: [*one, *two]\n"
        "  a: 0\n"
        "y: *one\n"
    )
    document = parse_yaml(text, label="file")
    assert document.data["x"] == {"a": 0, "b": 1, "c": 2}
    assert document.data["y"] == {"a": 1, "b": 1}
    assert document.place(("x", "c")) == "file:2"
    assert document.place(("x", "a")) == "file:5"


def test_duplicate_keys_are_refused_at_every_depth_all_at_once():
    text = "a: 1\nb:\n  c: 1\n  c: 2\na: 2\n"
    assert problems_of(text) == [
        "file:5: duplicate key 'a' (first on line 1)",
        "file:4: duplicate key 'c' (first on line 3)",
    ]


def test_a_duplicate_key_behind_an_anchor_is_told_once():
    assert problems_of("_a: &a {k: 1, k: 2}\nb: *a\nc: {<<: *a}\n") == [
        "file:1: duplicate key 'k' (first on line 1)"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1: x\n", "file:1: a key must be text; quote it: 1"),
        ("a: 1\ntrue: x\n", "file:2: a key must be text; quote it: true"),
        ("[a]: x\n", "file:1: a key must be text; quote it: a list or a mapping"),
        ("- a\n", "file:1: the file must hold a mapping of keys to values"),
        ("", "file:1: the file must hold a mapping of keys to values"),
        ("a: !!python/object:os.system x\n", "the tag"),
        ("a: !thing {b: 1}\n", "file:1: the tag '!thing' is not allowed"),
        ("a: !!int x\n", "file:1: 'x' is no int"),
        ("a: {<<: 3}\n", "file:1: '<<' takes a mapping or a list of mappings"),
    ],
)
def test_what_is_not_allowed(text, problem):
    lines = problems_of(text)
    assert len(lines) == 1
    assert problem in lines[0]


@pytest.mark.parametrize(
    "text",
    ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n", "a: &b {<<: {<<: *b}}\nc: {<<: *b}\n"],
)
def test_an_anchor_inside_itself_is_refused(text):
    assert "file:1: an anchor must not contain itself" in problems_of(text)


def test_bad_syntax_names_line_and_column():
    (line,) = problems_of("a: 1\nb: [1, 2\nc: 3\n")
    assert line.startswith(("file:3:", "file:2:"))
    assert "not valid YAML" in line


def test_two_documents_are_refused():
    (line,) = problems_of("a: 1\n---\nb: 2\n")
    assert "not valid YAML" in line


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml: there is no such file"):
        read_yaml(tmp_path / "absent.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(ConfigError, match=r"binary\.yaml: cannot be read"):
        read_yaml(tmp_path / "binary.yaml")


def test_single_values():
    assert parse_value("1e-3", label="--set x") == 0.001
    assert parse_value("[64, 32]", label="--set x") == [64, 32]
    assert parse_value("{start: 1, end: 0}", label="--set x") == {"start": 1, "end": 0}
    assert parse_value("mc:rtg", label="--set x") == "mc:rtg"
    assert parse_value("", label="--set x") is None
    with pytest.raises(ConfigError, match=r"^--set x=\[: not valid YAML"):
        parse_value("[", label="--set x=[")
    with pytest.raises(ConfigError, match=r"^--set x: duplicate key 'a'$"):
        parse_value("{a: 1, a: 2}", label="--set x")
