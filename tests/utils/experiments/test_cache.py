"""The cache of records: right whatever becomes of it."""

import dataclasses
import itertools
import multiprocessing
import os
import shutil
import signal
import sqlite3
import time

import pytest

from tests.helpers.finished_runs import finished_run, process_ended
from utils.experiments.cache import CACHE_NAME, RunCache, read_records
from utils.run import Labels, change_labels


def facts(records):
    return [
        (r.columns["id"], r.columns["test"], r.columns["status"], r.columns["tags"])
        for r in records
    ]


def test_what_has_not_changed_is_not_read_again(tmp_path):
    runs = [finished_run(tmp_path, seed=seed) for seed in range(3)]
    cache = RunCache(tmp_path)
    first = facts(cache.read())
    assert cache.n_read == 3
    assert facts(cache.read()) == first
    assert cache.n_read == 0
    change_labels(runs[1].path, lambda labels: dataclasses.replace(labels, tags=("paper",)))
    tags = {r.columns["id"]: r.columns["tags"] for r in cache.read()}
    assert cache.n_read == 1
    assert tags[runs[1].id] == ["paper"]
    shutil.rmtree(runs[0].path)
    assert len(cache.read()) == 2
    with sqlite3.connect(cache.path) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (2,)


def test_tags_and_notes_survive_the_cache(tmp_path):
    run = finished_run(tmp_path, labels=Labels(group="g", tags=("a",), note="good"))
    before = read_records(tmp_path)
    RunCache(tmp_path).remove()
    assert not (tmp_path / CACHE_NAME).exists()
    (after,) = read_records(tmp_path)
    assert [after] == before
    assert (after.columns["tags"], after.columns["note"], after.columns["group"]) == (
        ["a"],
        "good",
        "g",
    )
    assert after.run.id == run.id


@pytest.mark.parametrize(
    "content",
    [b"", b"no database at all, but long enough to be taken for one" * 50, b"SQLite format 3\0"],
)
def test_a_damaged_cache_is_built_anew(tmp_path, content):
    finished_run(tmp_path)
    expected = facts(read_records(tmp_path))
    (tmp_path / CACHE_NAME).write_bytes(content)
    cache = RunCache(tmp_path)
    assert facts(cache.read()) == expected
    assert facts(cache.read()) == expected
    cache.read()
    assert cache.n_read == 0


def test_a_cache_with_its_middle_overwritten_is_built_anew(tmp_path):
    for seed in range(30):
        finished_run(tmp_path, seed=seed)
    expected = facts(read_records(tmp_path))
    path = tmp_path / CACHE_NAME
    content = bytearray(path.read_bytes())
    content[5000:9000] = os.urandom(4000)
    path.write_bytes(bytes(content))
    assert facts(read_records(tmp_path)) == expected


def test_a_cache_of_another_form_is_built_anew(tmp_path, monkeypatch):
    finished_run(tmp_path)
    expected = facts(read_records(tmp_path))
    monkeypatch.setattr("utils.experiments.cache._FORM", 99)
    cache = RunCache(tmp_path)
    assert facts(cache.read()) == expected
    assert cache.n_read == 1


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    finished_run(tmp_path)

    def refuse(*args, **kwargs):
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("utils.experiments.cache.sqlite3.connect", refuse)
    assert len(read_records(tmp_path)) == 1


def test_a_process_that_died_is_noticed_though_no_file_changed(tmp_path):
    run = finished_run(tmp_path)
    run.write_status("running")
    (record,) = read_records(tmp_path)
    assert record.columns["status"] == "running"
    process_ended(run)
    (record,) = read_records(tmp_path)
    assert record.columns["status"] == "died"


def test_damaged_runs_are_listed_without_values(tmp_path):
    run = finished_run(tmp_path)
    run.metrics_jsonl.write_bytes(b"\xff\n{}\n")
    run.config_path.write_text("{")
    (record,) = read_records(tmp_path)
    assert (record.columns["config"], record.columns["test"]) == ("?", None)


def _work(runs_dir, seed):
    """Make runs and read all of them, over and over; without a seed until it is killed."""
    for number in range(6) if seed else itertools.repeat(0):
        finished_run(runs_dir, seed=10 * seed + number, curve=[1.0] * 40)
        read_records(runs_dir)


def test_eight_writers_at_once_and_one_is_killed(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_work, args=(tmp_path, seed)) for seed in range(8)]
    for worker in workers:
        worker.start()
    while len(list(tmp_path.glob("*/config.json"))) < 8:
        time.sleep(0.005)
    os.kill(workers[0].pid, signal.SIGKILL)
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL] + [0] * 7
    kept = facts(read_records(tmp_path))
    seeds = {r.columns["seed"] for r in read_records(tmp_path)}
    assert {10 * s + n for s in range(1, 8) for n in range(6)} <= seeds
    with sqlite3.connect(tmp_path / CACHE_NAME) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    RunCache(tmp_path).remove()
    assert facts(read_records(tmp_path)) == kept
