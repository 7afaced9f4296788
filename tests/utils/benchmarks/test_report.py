import json

import pytest

from utils.benchmarks import BenchmarkReport, Score


@pytest.fixture
def report(capsys):
    report = BenchmarkReport("speed", torch_threads=1, settings={"windows": 2})
    assert "1 torch thread, load" in capsys.readouterr().out
    return report


SCORES = [
    Score("ours", (300.0, 500.0, 400.0), (800.0, 800.0, 900.0)),
    Score("peer", (200.0, 100.0, 200.0), (400.0, 400.0, 400.0)),
    Score("processes", (50.0, 50.0, 50.0)),
]


def test_scores_stand_beside_the_peer(report, capsys):
    report.add_scores("Steps", SCORES, unit="steps/s", peer="peer")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["Steps"]
    assert lines[4] == ["ours", "400", "300", "500", "2.00x", "800", "2.00x"]
    assert lines[5] == ["peer", "200", "100", "200", "1.00x", "400", "1.00x"]
    assert lines[6] == ["processes", "50", "50", "50", "0.25x", "-", "-"]


def test_all_numbers_are_in_the_file(report, tmp_path):
    report.add_scores("Steps", SCORES, unit="steps/s", peer="peer")
    report.add_fact("share", 4.5, "the share is 4.5 %")
    report.write(tmp_path / "out.json")
    stored = json.loads((tmp_path / "out.json").read_text())
    assert stored["benchmark"] == "speed"
    assert stored["settings"] == {"windows": 2}
    assert stored["machine"]["torch_threads"] == 1
    assert stored["machine"]["cores"] >= 1
    (table,) = stored["tables"]
    assert (table["title"], table["share"]) == ("Steps", 4.5)
    assert table["rows"][0] == {
        "name": "ours",
        "median": 400.0,
        "rates": [300.0, 500.0, 400.0],
        "cpu_rates": [800.0, 800.0, 900.0],
    }


def test_a_folder_gets_a_file_of_the_benchmarks_name(report, tmp_path):
    report.write(tmp_path)
    assert (tmp_path / "speed.json").is_file()
