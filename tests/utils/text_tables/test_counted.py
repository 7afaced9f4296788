import pytest

from utils.text_tables import counted


@pytest.mark.parametrize(
    ("n", "noun", "plural", "text"),
    [
        (0, "epoch", None, "0 epochs"),
        (1, "epoch", None, "1 epoch"),
        (1024, "fresh episode", None, "1,024 fresh episodes"),
        (1, "process", "processes", "1 process"),
        (2, "process", "processes", "2 processes"),
    ],
)
def test_a_number_stands_with_what_it_counts(n, noun, plural, text):
    assert counted(n, noun, plural=plural) == text
