import json
import threading

import pytest

from utils.errors import UserError
from utils.run import Run
from utils.run.control import (
    AnswerReader,
    RequestReader,
    post_answer,
    post_request,
)
from utils.run.status import session_id


@pytest.fixture
def run(tmp_path):
    run = Run.create(tmp_path, config_id="A-v0:ppo", config_dict={})
    run.write_status("running")
    return run


def session_of(run):
    return session_id(run.read_status())


def test_a_request_is_read_once_and_answered(run):
    reader, answers = RequestReader(run, session=session_of(run)), AnswerReader(run)
    assert reader.read() == []
    request = post_request(run, "save", origin="a test")
    assert reader.read() == [request]
    assert reader.read() == []
    post_answer(run, request.id, "saved it")
    assert reader.read() == []
    (answer,) = answers.read()
    assert (answer.id, answer.text) == (request.id, "saved it")


def test_a_request_to_an_earlier_process_is_not_followed(run):
    post_request(run, "stop", origin="a test")
    assert RequestReader(run, session="here:1:2").read() == []
    assert len(RequestReader(run, session=session_of(run)).read()) == 1


def test_an_answered_request_is_not_followed_again(run):
    first = post_request(run, "stop", origin="a test")
    post_answer(run, first.id, "stopping")
    second = post_request(run, "save", origin="a test")
    assert RequestReader(run, session=session_of(run)).read() == [second]


@pytest.mark.parametrize("status", ["completed", "interrupted", "failed"])
def test_nobody_is_asked_where_nobody_trains(run, status):
    run.write_status(status)
    with pytest.raises(UserError, match=f"is not being trained: {status}"):
        post_request(run, "stop", origin="a test")
    assert not run.control_path.exists()


def test_lines_of_others_do_no_harm(run):
    reader = RequestReader(run, session=session_of(run))
    lines = [b"{", b"[1]", b"\xff", json.dumps({"request": "dance", "session": session_of(run)})]
    text = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    run.control_path.write_bytes(text + b"\n")
    request = post_request(run, "evaluate", origin="a test")
    assert reader.read() == [request]


def test_many_may_ask_at_once(run):
    def ask():
        for _ in range(50):
            post_request(run, "save", origin="a test")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    reader = RequestReader(run, session=session_of(run))
    found = []
    while any(thread.is_alive() for thread in threads):
        found += reader.read()
    found += reader.read()
    assert len({request.id for request in found}) == len(found) == 200
