"""What a person asks of a training that runs, through one file of the run's folder.

`control.jsonl` holds a line per request and a line per answer. Each is appended by one system call,
so any number of monitors may ask at once and none can leave half a request behind. A request
names the process that it is meant for: one that came too late is not followed after a resume.
"""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from utils.errors import UserError
from utils.run.run import Run
from utils.run.status import session_id
from utils.storage import TailFile, parse_records, storage_errors

RequestKind = Literal["save", "evaluate", "stop"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One thing that training is asked to do at the end of the running epoch."""

    id: str
    kind: RequestKind
    origin: str
    """Who asks: the name of a program."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What training did about a request."""

    id: str
    """Of the request."""
    text: str
    """For a person."""


def post_request(run: Run, kind: RequestKind, *, origin: str) -> Request:
    """Ask the process that trains a run for something.

    Args:
        run: The run.
        kind: What to do.
        origin: Who asks.

    Returns:
        The request; its answer will bear its id.

    Raises:
        UserError: Nobody trains the run.
        StorageError: The file cannot be written.
    """
    status = run.read_status()
    if status["status"] != "running":
        raise UserError(f"run '{run.id}' is not being trained: {status['status']}")
    request = Request(id=uuid.uuid4().hex[:12], kind=kind, origin=origin)
    record = {
        "request": kind,
        "id": request.id,
        "origin": origin,
        "session": session_id(status),
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    _append(run.control_path, record)
    return request


def post_answer(run: Run, request_id: str, text: str) -> None:
    """Say what became of a request.

    Raises:
        StorageError: The file cannot be written.
    """
    at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    _append(run.control_path, {"answer": text, "id": request_id, "at": at})


class RequestReader:
    """The requests to one process; a look that finds nothing costs one `stat`."""

    def __init__(self, run: Run, *, session: str) -> None:
        """Begin with the first request.

        Args:
            run: The run that is being trained.
            session: `session_id` of the process.
        """
        self._file = TailFile(run.control_path)
        self._session = session
        self._seen: set[str] = set()

    def read(self) -> list[Request]:
        """Return the requests that are new, oldest first."""
        requests = []
        records = parse_records(self._file.read())
        # What an earlier training of this same process has answered is not asked again.
        self._seen.update(str(record.get("id")) for record in records if "answer" in record)
        for record in records:
            kind, request_id = record.get("request"), record.get("id")
            is_ours = record.get("session") == self._session and kind in get_args(RequestKind)
            if is_ours and isinstance(request_id, str) and request_id not in self._seen:
                self._seen.add(request_id)
                origin = str(record.get("origin", "?"))
                requests.append(Request(id=request_id, kind=kind, origin=origin))
        return requests


class AnswerReader:
    """The answers that a run gives, to whoever asked."""

    def __init__(self, run: Run) -> None:
        self._file = TailFile(run.control_path)

    def read(self) -> list[Answer]:
        """Return the answers that are new, oldest first."""
        return [
            Answer(id=str(record.get("id")), text=record["answer"])
            for record in parse_records(self._file.read())
            if isinstance(record.get("answer"), str)
        ]


def _append(path: Path, record: dict[str, Any]) -> None:
    """Append one line by one system call."""
    line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    with storage_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
