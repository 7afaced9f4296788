from contextlib import ExitStack

import pytest

pytest.importorskip("stable_baselines3")

from utils.benchmarks.vecenv_speed import (
    MOST_ENVS_IN_PYTHON,
    OURS_SIMD,
    SB3_DUMMY,
    choose_peer,
    draw_actions,
    enter_contestants,
)


@pytest.mark.parametrize(
    ("env_id", "has_native"), [("CartPole-v1", True), ("MountainCarContinuous-v0", False)]
)
def test_everybody_in_this_process_steps_the_same_number(env_id, has_native):
    with ExitStack() as stack:
        contestants = enter_contestants(stack, env_id, n_envs=2, with_processes=False)
        names = [one.name for one in contestants]
        assert {SB3_DUMMY, OURS_SIMD} <= set(names)
        assert choose_peer(contestants) == ("gymnasium native" if has_native else SB3_DUMMY)
        assert ("gymnasium native" in names) == has_native
        assert not any(one.has_processes for one in contestants)
        assert {one.advance() for one in contestants} == {2 * len(draw_actions(env_id, n_envs=2))}


def test_many_environments_are_stepped_by_compiled_code_only():
    n_envs = MOST_ENVS_IN_PYTHON + 1
    with ExitStack() as stack:
        contestants = enter_contestants(stack, "Pendulum-v1", n_envs=n_envs, with_processes=True)
        names = {one.name for one in contestants}
        assert OURS_SIMD in names
        assert SB3_DUMMY not in names
        assert not any(one.has_processes for one in contestants)
        assert choose_peer(contestants) in names


@pytest.mark.slow
def test_processes_are_marked_and_closed():
    import multiprocessing

    with ExitStack() as stack:
        contestants = enter_contestants(stack, "CartPole-v1", n_envs=2, with_processes=True)
        assert sum(one.has_processes for one in contestants) == 3
        assert {one.advance() for one in contestants} == {128}
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()
