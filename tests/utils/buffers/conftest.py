from __future__ import annotations

from pathlib import Path

import pytest
import torch

from utils.buffers import Place


@pytest.fixture
def place(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Where arrays lie; the operations of other devices can be tried without one."""
    if where.endswith("operations"):
        monkeypatch.setattr(Place, "is_ordinary", False)
    if where == "disk":
        return Place(folder=tmp_path)
    return Place(device=torch.device(where.split()[0]))
