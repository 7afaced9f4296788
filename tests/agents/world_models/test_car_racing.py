"""What others found of CarRacing, over many episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from utils.environment import build_env

_MOST_GROWTH = 64 * 2**20


def resident_bytes() -> int:
    """Return the memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
def test_episodes_leave_nothing_behind_and_begin_with_a_picture() -> None:
    pytest.importorskip("Box2D", reason="needs the extra box2d")
    env = build_env("CarRacing-v3", n_envs=1, vectorization="sync", resize_obs=(64, 64))
    action = np.array([[0.0, 0.5, 0.0]], np.float32)
    for episode in range(120):
        picture = env.reset(seed=episode)[0]
        assert picture.std() > 10.0, episode
        assert 20.0 < picture.mean() < 230.0, episode
        env.step(action)
        if episode == 20:  # caches are full by now
            before = resident_bytes()
    assert resident_bytes() - before < _MOST_GROWTH  # a leak took megabytes for each of the 100
    env.close()
