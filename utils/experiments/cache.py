"""Records of all runs of a folder, kept in sqlite so that only what has changed is read again.

The run folders alone hold the truth. The cache may be removed at any moment, by a person or by a
program that finds it damaged; many processes may use it at once, and where it cannot be used (a
folder that is read-only, a file system without locks) everything is read from the folders.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils.experiments.records import Record, as_record, read_stored, stamp
from utils.run import Run, list_runs
from utils.run.run import CONFIG_NAME

CACHE_NAME = ".experiments.sqlite"
_FORM = 3
"""Of the stored records; another one is a cache of another program."""
_WAIT_SECONDS = 10.0


def read_records(runs_dir: Path) -> list[Record]:
    """Return a record of every run of a folder, newest first."""
    return RunCache(runs_dir).read()


class RunCache:
    """The cache of one folder of runs."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self.path = runs_dir / CACHE_NAME
        self.n_read = 0
        """Runs whose files the last `read` has opened."""

    def read(self) -> list[Record]:
        """Return a record of every run, newest first; what has changed is read from its folder."""
        runs = self._list()
        known = self._load()
        self.n_read = 0
        fresh: dict[str, tuple[str, dict[str, Any]]] = {}
        records = []
        for run in runs:
            name, mark = run.path.name, stamp(run.path)
            stored = known[name][1] if name in known and known[name][0] == mark else None
            if stored is None:
                stored = read_stored(run)
                self.n_read += 1
                if stamp(run.path) == mark:  # else it is being written: not to be remembered
                    fresh[name] = (mark, stored)
            if (run.path / CONFIG_NAME).exists():
                records.append(as_record(run, stored))
        gone = known.keys() - {run.path.name for run in runs}
        if fresh or gone:
            self._store(fresh, gone)
        return records

    def remove(self) -> None:
        """Remove the cache; the next `read` builds it anew."""
        for name in (CACHE_NAME, f"{CACHE_NAME}-journal"):
            (self.runs_dir / name).unlink(missing_ok=True)

    def _list(self) -> list[Run]:
        for _ in range(10):
            with contextlib.suppress(FileNotFoundError):  # a run was removed while it was listed
                return list_runs(self.runs_dir)
        return list_runs(self.runs_dir)

    def _load(self) -> dict[str, tuple[str, dict[str, Any]]]:
        if not self.path.exists():
            return {}
        try:
            with self._connect() as database:
                rows = database.execute("SELECT name, stamp, record FROM runs").fetchall()
            return {name: (mark, json.loads(record)) for name, mark, record in rows}
        except sqlite3.OperationalError:  # locked for long, or no place for a lock
            return {}
        except (sqlite3.DatabaseError, ValueError):
            self._discard()
            return {}

    def _store(self, fresh: dict[str, tuple[str, dict[str, Any]]], gone: set[str]) -> None:
        rows = [(name, mark, json.dumps(stored)) for name, (mark, stored) in fresh.items()]
        try:
            with self._connect() as database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)
                database.executemany("DELETE FROM runs WHERE name = ?", [(n,) for n in gone])
                database.execute("COMMIT")
        except sqlite3.OperationalError:
            return
        except sqlite3.DatabaseError:
            self._discard()

    @contextlib.contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = NORMAL")
            (form,) = database.execute("PRAGMA user_version").fetchone()
            if form != _FORM:
                database.execute("BEGIN IMMEDIATE")
                database.execute("DROP TABLE IF EXISTS runs")
                database.execute(
                    "CREATE TABLE runs (name TEXT PRIMARY KEY, stamp TEXT, record TEXT)"
                )
                database.execute(f"PRAGMA user_version = {_FORM}")
                database.execute("COMMIT")
            yield database
        finally:
            database.close()

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self.remove()
