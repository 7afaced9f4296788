"""Environments of the optional families in worker processes: the same as in this one."""

import numpy as np
import pytest

from utils.environment import build_env

CASES = [
    ("dm_control", "dm_control/cartpole-swingup", {"action_repeat": 2}),
    ("minigrid", "MiniGrid-Empty-5x5-v0", {"observation": "symbols"}),
    ("mujoco", "InvertedPendulum-v5", {}),
]


@pytest.mark.parametrize(("package", "env_id", "kwargs"), CASES, ids=[case[1] for case in CASES])
def test_a_spawned_worker_knows_the_family(package, env_id, kwargs):
    pytest.importorskip(package)
    played = []
    for vectorization in ("sync", "async"):
        env = build_env(
            env_id, n_envs=2, vectorization=vectorization, n_workers=1, env_kwargs=kwargs
        )
        try:
            rows = [env.reset(seed=4)[0].copy()]
            assert rows[0].dtype == np.float32  # whatever the engine counts in
            rows += [env.step(env.action_space.sample())[0].copy() for _ in range(5)]
            played.append((env.max_episode_steps, np.array(rows)))
        finally:
            env.close()
    (limit, here), (worker_limit, there) = played
    assert limit == worker_limit
    np.testing.assert_array_equal(here, there)
