"""Which ends of other processes end a run, and which it outlives."""

import threading
import types

import pytest

from agents import together


class FakeTeam:
    """Counts how often it is asked whether the last exchange is made."""

    def __init__(self, *, is_over):
        self._is_over = is_over
        self.asked = threading.Semaphore(0)
        self.before_end = lambda loss: None

    @property
    def is_over(self):
        self.asked.release()
        return self._is_over

    def told_failure(self):
        return None


GONE = types.SimpleNamespace(first_end=lambda: (1, -11), abandon=lambda: None)


@pytest.fixture
def ends(monkeypatch):
    """Let a process that would end itself only say so."""
    codes, ended = [], threading.Event()

    def leave(code):
        codes.append(code)
        ended.set()

    monkeypatch.setattr(together, "os", types.SimpleNamespace(_exit=leave))
    monkeypatch.setattr(together, "exchanges_may_hang", lambda: True)
    monkeypatch.setattr(together, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("utils.distributed.watch._PAUSE_SECONDS", 0.001)
    return codes, ended


def test_a_process_that_is_lost_in_training_ends_the_leader(ends, capsys):
    codes, ended = ends
    with together.watching(FakeTeam(is_over=False), GONE):
        assert ended.wait(60.0)
    assert codes == [128 + 11]
    assert "error: the process of rank 1 was ended by SIGSEGV" in capsys.readouterr().err


def test_one_that_is_lost_after_the_last_exchange_does_not(ends):
    team = FakeTeam(is_over=True)
    with together.watching(team, GONE):
        for _ in range(5):
            assert team.asked.acquire(timeout=60.0)
    assert ends[0] == []
