"""A process that waits for one that is gone is ended; one that ends by itself is left alone."""

import threading

from utils.distributed.team import PeerFailedError
from utils.distributed.watch import Watch

LOSS = PeerFailedError("rank 1: broke", exit_code=3, is_told=True)


def test_one_that_waits_is_ended():
    ended, told = threading.Event(), []

    def end(loss):
        told.append(loss)
        ended.set()

    answers = iter([None, None])
    with Watch(lambda: next(answers, LOSS), end, patience_seconds=0.01):
        assert ended.wait(60.0)
    assert told == [LOSS]


def test_one_that_ends_by_itself_is_left_alone():
    found, told = threading.Event(), []

    def find():
        found.set()
        return LOSS

    with Watch(find, told.append, patience_seconds=600.0):
        assert found.wait(60.0)
    assert told == []


def test_nobody_is_ended_where_nobody_failed():
    asked, told = threading.Semaphore(0), []

    def find():
        asked.release()

    with Watch(find, told.append, patience_seconds=0.0):
        for _ in range(2):
            assert asked.acquire(timeout=60.0)
    assert told == []


def test_a_loss_that_matters_no_longer_ends_nobody():
    asked, told = threading.Semaphore(0), []
    answers = iter([LOSS])

    def find():
        asked.release()
        return next(answers, None)

    with Watch(find, told.append, patience_seconds=0.01):
        for _ in range(3):
            assert asked.acquire(timeout=60.0)
    assert told == []
