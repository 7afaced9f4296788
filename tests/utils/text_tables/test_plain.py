import pytest

from utils.text_tables import format_table


def test_numbers_stand_right_and_words_left():
    text = format_table(("name", "steps/s", "x"), [("ours", "1,200", "2.00x"), ("b", "7", "-")])
    assert text.splitlines() == [
        "name  steps/s      x",
        "----  -------  -----",
        "ours    1,200  2.00x",
        "b           7      -",
    ]


def test_one_word_makes_a_column_of_words():
    text = format_table(("a", "value"), [("x", "12"), ("y", "none")])
    assert text.splitlines()[2:] == ["x  12", "y  none"]


def test_a_table_without_rows_is_its_header():
    assert format_table(("a", "bc"), []).splitlines() == ["a  bc", "-  --"]


def test_a_row_of_another_length_is_a_mistake():
    with pytest.raises(AssertionError):
        format_table(("a", "b"), [("x",)])
