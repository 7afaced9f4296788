from contextlib import ExitStack

import pytest

pytest.importorskip("stable_baselines3")

from utils.benchmarks.collector_speed import PEER, enter_contestants


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_a_unit_is_one_environment_step(env_id):
    with ExitStack() as stack:
        ours, peer, alone = enter_contestants(stack, env_id, n_envs=2, n_steps=4)
        assert peer.name == PEER
        assert (ours.advance(), peer.advance()) == (8, 8)
        assert (ours.advance(), peer.advance()) == (8, 8)
        assert alone.advance() % 2 == 0
