from __future__ import annotations

import torch
from torch import nn

from utils.optimization.averaging import move_towards_


def test_a_target_moves_by_its_share_and_the_source_stays() -> None:
    target, source = nn.Linear(1, 1), nn.Linear(1, 1)
    with torch.no_grad():
        for module, value in ((target, 1.0), (source, 3.0)):
            module.weight.fill_(value)
            module.bias.fill_(-value)
    move_towards_(target, source, tau=0.25)
    assert target.weight.item() == 1.5  # 0.75 * 1 + 0.25 * 3
    assert target.bias.item() == -1.5
    assert source.weight.item() == 3.0
    move_towards_(target, source, tau=1.0)
    assert target.weight.item() == 3.0
