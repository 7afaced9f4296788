import pytest

from tests.helpers.finished_runs import finished_run
from utils.experiments.cache import read_records
from utils.experiments.cells import format_cell, format_setting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.999, "0.999"),
        (1.0, "1"),
        (3e-05, "3e-05"),
        (0.1234567891, "0.1234567891"),
        (None, "null"),
        (True, "true"),
        ([64, 64], "[64,64]"),
        ({"start": 0.003, "end": 0.0, "from": 0.0, "to": 1.0}, "lin_0.003"),
        ({"start": 0.00031234567, "end": 0.0, "from": 0.0, "to": 1.0}, "lin_0.00031234567"),
        ({"start": 0.5, "end": 0.05, "from": 0.0, "to": 1.0}, "0.5 → 0.05"),
        ({"start": 1.0, "end": 0.0, "from": 0.2, "to": 1e5}, "1 → 0 (from 0.2 to 100000)"),
    ],
)
def test_settings_are_written_exactly(value, text):
    assert format_setting(value) == text


def test_a_setting_is_exact_and_a_result_is_short(tmp_path):
    finished_run(tmp_path, seed=12345, test=1234.5678, gamma=0.9995, ent_coef=None)
    (record,) = read_records(tmp_path)
    shown = {key: format_cell(record, key) for key in ("seed", "test", "gamma", "ent_coef", "note")}
    assert shown == {
        "seed": "12345",
        "test": "1,234.57",
        "gamma": "0.9995",
        "ent_coef": "-",
        "note": "",
    }
