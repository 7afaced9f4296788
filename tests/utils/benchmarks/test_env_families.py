from contextlib import ExitStack

import numpy as np
import pytest

from utils.benchmarks.env_families import (
    BARE,
    OURS,
    SUBJECTS,
    Subject,
    TablePolicy,
    choose_subjects,
    enter_contestants,
    why_not_installed,
)
from utils.environment import build_env
from utils.policy_factory import build_distribution


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "Blackjack-v1", "Pendulum-v1"])
def test_both_sides_count_the_same_steps(env_id):
    with ExitStack() as stack:
        contestants = enter_contestants(stack, Subject(env_id=env_id, n_envs=3))
        assert [contestant.name for contestant in contestants] == [OURS, BARE]
        # 32 steps of 3 environments; more than an episode of Blackjack.
        assert [contestant.advance() for contestant in contestants] == [96, 96]
        assert [contestant.advance() for contestant in contestants] == [96, 96]


def test_the_table_holds_actions_as_a_policy_gives_them():
    env = build_env("CartPole-v1", n_envs=4, vectorization="sync")
    distribution, _ = build_distribution(env.single_action_space)
    policy = TablePolicy(env, distribution)
    actions = np.array([policy.act(None).action.numpy() for _ in range(50)])
    assert actions.shape == (50, 4)
    assert set(np.unique(actions)) == {0, 1}
    env.close()


def test_subjects_are_found_by_id_and_others_get_the_usual_number():
    assert choose_subjects(None, n_envs=None) == list(SUBJECTS)
    (slow, other) = choose_subjects(["CarRacing-v3", "Acrobot-v1"], n_envs=None)
    assert (slow.n_envs, other.n_envs) == (2, Subject(env_id="").n_envs)
    assert choose_subjects(["CarRacing-v3"], n_envs=5)[0].n_envs == 5


def test_what_is_not_installed_has_a_reason(monkeypatch):
    assert why_not_installed("CartPole-v1") is None
    monkeypatch.setitem(__import__("sys").modules, "minigrid", None)
    assert "gymnasium-solver[minigrid]" in why_not_installed("MiniGrid-Empty-5x5-v0")


def test_of_a_family_with_one_environment_in_a_process_the_bare_loop_has_one():
    pytest.importorskip("stable_retro")
    with ExitStack() as stack:
        subject = Subject(env_id="Retro/Airstriker-Genesis-v0", n_envs=2)
        contestants = enter_contestants(stack, subject)
        assert [contestant.advance() for contestant in contestants] == [64, 32]
