from __future__ import annotations

import os
import signal

import pytest

from agents.interrupts import GRACE_SECONDS, RunInterruptedError, StopSignals


@pytest.fixture
def signals():
    reasons: list[str] = []
    told: list[str] = []
    stop = StopSignals(reasons.append, tell=told.append)
    stop.reasons, stop.told = reasons, told
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    stop.install()
    yield stop
    stop.restore()
    assert {number: signal.getsignal(number) for number in before} == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_stops(signals, number):
    os.kill(os.getpid(), number)
    assert signals.received == number
    assert signals.reasons == [f"interrupted by {number.name}"]
    assert "stopping after this epoch" in signals.told[0]
    with pytest.raises(RunInterruptedError) as stopped:
        os.kill(os.getpid(), signal.SIGINT)
    # The exit code is that of the first one.
    assert stopped.value.exit_code == 128 + number
    assert number.name in str(stopped.value)
    assert len(signals.reasons) == 1


@pytest.mark.parametrize("has_saved", [True, False])
def test_the_first_signal_says_where_nothing_is_saved_yet(has_saved):
    told: list[str] = []
    stop = StopSignals(lambda reason: None, tell=told.append, has_saved=lambda: has_saved)
    stop.install()
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        stop.restore()
    (line,) = told
    assert line.startswith("SIGINT: stopping after this epoch (at most 20 s); once more stops at")
    assert line.endswith("nothing is saved yet") != has_saved


def test_after_training_the_first_signal_changes_nothing(signals):
    os.kill(os.getpid(), signal.SIGALRM)
    signals.received = None
    signals.training_is_over()
    assert signal.alarm(0) == 0, "the last epoch has ended, so its time is not limited any more"
    os.kill(os.getpid(), signal.SIGINT)
    assert len(signals.reasons) == 1
    assert "training is over and saved" in signals.told[-1]
    with pytest.raises(RunInterruptedError, match="stopped by SIGINT after training"):
        os.kill(os.getpid(), signal.SIGINT)


def test_an_epoch_that_does_not_end_is_left(signals):
    assert signal.alarm(0) == 0
    os.kill(os.getpid(), signal.SIGTERM)
    assert 0 < signal.alarm(0) <= GRACE_SECONDS
    with pytest.raises(RunInterruptedError):
        os.kill(os.getpid(), signal.SIGALRM)


def test_signals_are_given_back_however_often_they_were_taken(signals):
    ours = signal.getsignal(signal.SIGINT)
    signals.install()
    os.kill(os.getpid(), signal.SIGTERM)
    signals.restore()
    assert signal.getsignal(signal.SIGINT) != ours
    assert signal.alarm(0) == 0
