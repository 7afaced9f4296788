from __future__ import annotations

import torch

from agents.replay_records import UpdateLog


def test_a_flush_begins_anew() -> None:
    log = UpdateLog()
    for loss in (1.0, 3.0):
        log.add({"loss": torch.tensor(loss)})
        log.seconds += 0.5
    assert (log.n_updates, log.seconds) == (2, 1.0)
    assert log.flush() == ({"loss": 2.0}, None)
    assert (log.n_updates, log.seconds) == (0, 0.0)
    log.seconds += 0.5
    assert log.flush() == ({}, None), "no update was made"
    assert log.seconds == 0.0


def test_the_first_number_that_is_none_is_told() -> None:
    log = UpdateLog()
    for loss, q in ((1.0, 2.0), (3.0, float("inf")), (float("nan"), 4.0)):
        log.add({"loss": torch.tensor(loss), "q": torch.tensor(q)})
    assert log.flush() == ({}, ("q", float("inf"), 1))
