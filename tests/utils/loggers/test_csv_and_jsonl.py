import csv
import json
import math
import time

import pytest

from utils.errors import StorageError
from utils.loggers import CsvWriter, JsonlWriter, read_jsonl
from utils.metrics import MetricsRecorder


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def row_of(epoch, **extra):
    return {
        "train/cnt/epoch": epoch,
        "train/cnt/timesteps": epoch * 8,
        "train/loss/value": 0.1 * epoch,
        **extra,
    }


def write_epochs(writer, epochs, **extra):
    for epoch in epochs:
        writer.write(row_of(epoch, **extra), epoch=epoch, timesteps=epoch * 8)


def test_columns_start_with_epoch_and_timesteps_and_numbers_come_back_exactly(tmp_path):
    path = tmp_path / "metrics.csv"
    write_epochs(CsvWriter(path), [1, 2, 3])
    assert path.read_text().splitlines() == [
        "epoch,timesteps,train/loss/value",
        "1,8,0.1",
        "2,16,0.2",
        "3,24,0.30000000000000004",
    ]


def test_new_metric_adds_a_column_and_keeps_old_rows(tmp_path):
    path = tmp_path / "metrics.csv"
    writer = CsvWriter(path)
    write_epochs(writer, [1, 2])
    write_epochs(writer, [3], **{"val/roll/ep_rew_mean": 5.0})
    write_epochs(writer, [4])
    assert path.read_text().splitlines() == [
        "epoch,timesteps,train/loss/value,val/roll/ep_rew_mean",
        "1,8,0.1,",
        "2,16,0.2,",
        "3,24,0.30000000000000004,5.0",
        "4,32,0.4,",
    ]


def test_restart_appends_under_one_header(tmp_path):
    path = tmp_path / "metrics.csv"
    write_epochs(CsvWriter(path), [1, 2, 3])
    resumed = CsvWriter(path)
    resumed.truncate_after(3)
    write_epochs(resumed, [4], **{"train/x/new": 1.0})
    write_epochs(resumed, [5])
    rows = read_csv(path)
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3, 4, 5]
    assert path.read_text().count("epoch,") == 1
    assert rows[0]["train/loss/value"] == "0.1"


@pytest.mark.parametrize(("kind", "name"), [(CsvWriter, "m.csv"), (JsonlWriter, "m.jsonl")])
def test_resumed_file_equals_one_that_was_never_stopped(tmp_path, kind, name):
    def metrics(epoch):
        late = {"val/roll/ep_rew_mean": float(epoch)} if epoch % 3 == 0 else {}
        return row_of(epoch, **late)

    def run(path, epochs, resume_at=None):
        writer = kind(path)
        if resume_at is not None:
            writer.truncate_after(resume_at)
        for epoch in epochs:
            writer.write(metrics(epoch), epoch=epoch, timesteps=epoch * 8)

    run(tmp_path / f"whole-{name}", range(1, 8))
    resumed = tmp_path / f"resumed-{name}"
    # Killed in epoch 5, in the middle of writing; the last checkpoint is of epoch 2.
    run(resumed, range(1, 5))
    with resumed.open("ab") as file:
        file.write(b'{"epoch":5' if kind is JsonlWriter else b"5,40")
    run(resumed, range(3, 8), resume_at=2)
    assert resumed.read_bytes() == (tmp_path / f"whole-{name}").read_bytes()


@pytest.mark.parametrize(("kind", "name"), [(CsvWriter, "m.csv"), (JsonlWriter, "m.jsonl")])
def test_truncating_nothing_leaves_the_file_alone(tmp_path, kind, name):
    path = tmp_path / name
    kind(path).truncate_after(0)
    assert not path.exists()
    write_epochs(kind(path), [1, 2])
    before = path.stat().st_ino
    kind(path).truncate_after(2)
    assert path.stat().st_ino == before


def test_column_of_a_metric_that_only_later_rows_had_goes_with_them(tmp_path):
    path = tmp_path / "metrics.csv"
    writer = CsvWriter(path)
    write_epochs(writer, [1, 2])
    write_epochs(writer, [3], **{"val/roll/ep_rew_mean": 5.0})
    writer.truncate_after(2)
    write_epochs(writer, [3])
    assert path.read_text().splitlines()[0] == "epoch,timesteps,train/loss/value"
    assert [row["epoch"] for row in read_csv(path)] == ["1", "2", "3"]


def test_resume_from_the_very_start_keeps_no_row(tmp_path):
    path = tmp_path / "metrics.csv"
    write_epochs(CsvWriter(path), [1, 2])
    writer = CsvWriter(path)
    writer.truncate_after(0)
    write_epochs(writer, [1])
    assert [row["epoch"] for row in read_csv(path)] == ["1"]


def test_jsonl_is_valid_json_with_numbers_that_are_not_finite(tmp_path):
    path = tmp_path / "metrics.jsonl"
    values = {"train/a/nan": math.nan, "train/a/inf": math.inf, "train/a/low": -math.inf}
    JsonlWriter(path).write({"train/a/x": 1.5, **values}, epoch=1, timesteps=8)

    def refuse(text):
        raise AssertionError(text)

    assert json.loads(path.read_text(), parse_constant=refuse) == {
        "epoch": 1,
        "timesteps": 8,
        "train/a/x": 1.5,
        "train/a/nan": "NaN",
        "train/a/inf": "Infinity",
        "train/a/low": "-Infinity",
    }
    (row,) = read_jsonl(path)
    assert math.isnan(row["train/a/nan"])
    assert (row["train/a/inf"], row["train/a/low"]) == (math.inf, -math.inf)


def test_csv_reads_numbers_that_are_not_finite_as_floats(tmp_path):
    path = tmp_path / "metrics.csv"
    CsvWriter(path).write({"train/a/x": math.nan, "train/a/y": -math.inf}, epoch=1, timesteps=8)
    (row,) = read_csv(path)
    assert math.isnan(float(row["train/a/x"]))
    assert float(row["train/a/y"]) == -math.inf


def test_read_jsonl_leaves_out_a_line_that_was_cut(tmp_path):
    path = tmp_path / "metrics.jsonl"
    write_epochs(JsonlWriter(path), [1])
    with path.open("ab") as file:
        file.write(b'{"epoch": 2')
    assert [row["epoch"] for row in read_jsonl(path)] == [1]
    assert read_jsonl(tmp_path / "missing.jsonl") == []


@pytest.mark.parametrize("damage", [b"\0" * 40, b'{"epoch": 2', b"[2]", b'{"timesteps": 16}', b""])
def test_a_damaged_line_of_jsonl_is_named(tmp_path, damage):
    path = tmp_path / "metrics.jsonl"
    write_epochs(JsonlWriter(path), [1, 2, 3])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], damage, lines[2], b""]))
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"metrics\.jsonl', line 2, .* remove that line"):
        JsonlWriter(path).truncate_after(1)
    assert path.read_bytes() == before
    if b"timesteps" not in damage:  # an alert, say, needs no epoch
        with pytest.raises(StorageError, match=r"metrics\.jsonl', line 2, "):
            read_jsonl(path)


@pytest.mark.parametrize("damage", [b"\0" * 40, b"", b"x,16,1.0"])
def test_a_damaged_line_of_csv_is_named(tmp_path, damage):
    path = tmp_path / "metrics.csv"
    write_epochs(CsvWriter(path), [1, 2, 3])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], damage, lines[3], b""]))
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"metrics\.csv', line 3, .* remove that line"):
        CsvWriter(path).truncate_after(1)
    assert path.read_bytes() == before


def test_one_epoch_costs_little(tmp_path):
    recorder = MetricsRecorder()
    writers = [CsvWriter(tmp_path / "m.csv"), JsonlWriter(tmp_path / "m.jsonl")]
    values = {f"train/group{i // 8}/metric{i % 8}": 1.2345 * i for i in range(40)}

    def dispatch(epoch):
        recorder.record_many(values)
        row = recorder.flush()
        for writer in writers:
            writer.write(row, epoch=epoch, timesteps=epoch * 8)

    dispatch(0)
    fastest = math.inf
    for batch in range(5):
        started = time.process_time()
        for epoch in range(batch * 100 + 1, batch * 100 + 101):
            dispatch(epoch)
        fastest = min(fastest, (time.process_time() - started) / 100)
    assert fastest < 0.3e-3, f"{fastest * 1e6:.0f} us per epoch"
