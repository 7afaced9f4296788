from __future__ import annotations

import gc
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from utils.optimization.capture import capturing


@pytest.fixture
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "set_stream", lambda stream: None)
    monkeypatch.setattr(torch.cuda, "graph", lambda graph, **_: nullcontext())


@pytest.mark.usefixtures("_no_gpu")
@pytest.mark.parametrize("was_on", [True, False])
def test_no_garbage_is_collected_while_a_graph_is_captured(was_on: bool) -> None:
    # What is captured would be lost with a graph that garbage had held.
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with capturing(object()):
            assert not gc.isenabled()
        assert gc.isenabled() == was_on
        with pytest.raises(ZeroDivisionError), capturing(object()):
            1 / 0  # noqa: B018
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()
