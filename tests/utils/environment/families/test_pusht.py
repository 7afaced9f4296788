from __future__ import annotations

import sys

import numpy as np
import pytest

from utils.config import load_config
from utils.environment import build_env_from_config
from utils.errors import MissingDependencyError

CONFIG = "gym_pusht/PushT-v0:bc"


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gym_pusht", None)
    with pytest.raises(MissingDependencyError) as caught:
        build_env_from_config(load_config(CONFIG), n_envs=1)
    assert str(caught.value) == (
        "gym_pusht/PushT-v0 needs the package 'gym_pusht': install it with  "
        "pip install 'gymnasium-solver[pusht]'"
    )


def test_the_task_is_the_published_one() -> None:
    pytest.importorskip("gym_pusht")
    env = build_env_from_config(load_config(CONFIG), n_envs=2, vectorization="sync")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (2, 5)
    assert env.max_episode_steps == 300
    assert np.array_equal(env.single_action_space.high, [512.0, 512.0])
    env.close()
