from contextlib import ExitStack

import pytest

pytest.importorskip("stable_baselines3")

from utils.benchmarks.vecenv_speed import PEER, draw_actions, enter_contestants


@pytest.mark.parametrize(
    ("env_id", "has_native"), [("CartPole-v1", True), ("MountainCarContinuous-v0", False)]
)
def test_everybody_in_this_process_steps_the_same_number(env_id, has_native):
    with ExitStack() as stack:
        contestants = enter_contestants(stack, env_id, n_envs=2, with_processes=False)
        names = [one.name for one in contestants]
        assert PEER in names
        assert ("gymnasium native" in names) == has_native
        assert not any(one.has_processes for one in contestants)
        assert {one.advance() for one in contestants} == {2 * len(draw_actions(env_id, n_envs=2))}


@pytest.mark.slow
def test_processes_are_marked_and_closed():
    import multiprocessing

    with ExitStack() as stack:
        contestants = enter_contestants(stack, "CartPole-v1", n_envs=2, with_processes=True)
        assert sum(one.has_processes for one in contestants) == 3
        assert {one.advance() for one in contestants} == {128}
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()
