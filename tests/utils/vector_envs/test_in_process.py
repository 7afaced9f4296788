from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TransformAction

from tests.helpers import envs
from tests.helpers.in_process_envs import make, make_registered, zeros
from utils.errors import ConfigError, EnvironmentFailedError
from utils.vector_envs import InProcessVectorEnv
from utils.vector_envs.base_vector_env import takes_ints

# -- autoreset ------------------------------------------------------------------------------------


def test_each_step_is_a_real_one_and_a_new_episode_begins_in_the_step_that_ended_one() -> None:
    env = make(envs.CountingEnv, length=2)
    env.reset(seed=0)
    steps = [env.step(zeros(env)) for _ in range(6)]
    # Length 2: 6 vector steps are 6 real steps (reward 1 each) of 3 episodes, no dummy step.
    assert sum(float(reward[0]) for _, reward, *_ in steps) == 6.0
    assert sum(bool(terminated[0]) for _, _, terminated, *_ in steps) == 3
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@pytest.mark.parametrize(
    ("ending", "terminated", "truncated"),
    [("terminated", True, False), ("truncated", False, True), ("both", True, False)],
)
def test_the_end_of_an_episode(ending: str, terminated: bool, truncated: bool) -> None:
    env = make(envs.CountingEnv, 2, length=3, ending=ending)
    env.reset(seed=0)
    for count in (1, 2):
        obs, _, is_terminated, is_truncated, infos = env.step(zeros(env))
        assert obs.tolist() == [[count]] * 2
        assert not is_terminated.any()
        assert not is_truncated.any()
        assert infos == {}
    obs, _, is_terminated, is_truncated, infos = env.step(zeros(env))
    assert obs.tolist() == [[0.0]] * 2
    assert infos["final_obs"].tolist() == [[3.0]] * 2
    assert infos["_final_obs"].tolist() == [True] * 2
    assert is_terminated.tolist() == [terminated] * 2
    assert is_truncated.tolist() == [truncated] * 2


def test_a_family_that_reports_a_time_out_as_both_is_truncated() -> None:
    env = InProcessVectorEnv(
        [lambda: envs.CountingEnv(length=1, ending="both")],
        env_id="x",
        timeout_sets_terminated=True,
    )
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step(zeros(env))
    assert (terminated.tolist(), truncated.tolist()) == ([False], [True])


def test_only_rows_of_ended_episodes_are_marked_final() -> None:
    env = InProcessVectorEnv(
        [lambda: envs.CountingEnv(length=2), lambda: envs.CountingEnv(length=3)], env_id="x"
    )
    env.reset(seed=0)
    env.step(zeros(env))
    obs, _, terminated, _, infos = env.step(zeros(env))
    assert obs.tolist() == [[0.0], [2.0]]
    assert terminated.tolist() == infos["_final_obs"].tolist() == [True, False]
    assert infos["final_obs"][0].tolist() == [2.0]


class MethodEnv(envs.CountingEnv):
    """Uses a method that a NumPy integer has and a Python int has not."""

    def step(self, action: Any):
        assert action.item() == 0
        return super().step(action)


class MethodWrapper(gym.Wrapper):
    """Likewise."""

    def step(self, action: Any):
        assert action.item() in (0, 1)
        return self.env.step(action)


def make_lander() -> gym.Env:
    return gym.make("LunarLander-v3", disable_env_checker=True)


def make_transformed() -> gym.Env:
    """Hands the action to a function that uses the method, by a wrapper of Gymnasium's."""
    env = make_lander()
    return TransformAction(env, lambda action: int(action.item()), env.action_space)


def test_environments_of_others_and_functions_of_others_are_given_numpys_integers() -> None:
    pytest.importorskip("Box2D")
    built = [
        InProcessVectorEnv([factory], env_id="x")
        for factory in (MethodEnv, lambda: MethodWrapper(make_lander()), make_transformed)
    ]
    for env in built:
        env.reset(seed=0)
        env.step(zeros(env))


@pytest.mark.parametrize(
    ("env_id", "package"),
    [
        ("LunarLander-v3", "Box2D"),
        ("MiniGrid-DoorKey-5x5-v0", "minigrid"),
        ("BabyAI-GoToLocal-v0", "minigrid"),
    ],
)
def test_environments_that_are_given_python_ints_do_the_same_with_numpys(
    env_id: str, package: str
) -> None:
    pytest.importorskip(package)

    def play(kind: type) -> list[Any]:
        env = gym.make(env_id, disable_env_checker=True).unwrapped
        assert takes_ints(env)
        actions = np.random.default_rng(0).integers(0, env.action_space.n, 300)
        played = [env.reset(seed=0)[0]]
        for action in actions:
            observation, reward, terminated, *_ = env.step(kind(action))
            played += [observation, reward, terminated]
            if terminated:
                played.append(env.reset()[0])
        env.close()
        return played

    assert repr(play(int)) == repr(play(np.int64))


def test_two_steps_agree_with_gymnasiums_own_vector_env() -> None:
    ours = make_registered("CartPole-v1", 3)
    theirs = SyncVectorEnv(
        [lambda: gym.make("CartPole-v1")] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    actions = np.random.default_rng(0).integers(0, 2, (120, 3))
    n_ended = 0
    for action in actions:
        a, b = ours.step(action), theirs.step(action)
        for mine, other in zip(a[:4], b[:4], strict=True):
            np.testing.assert_array_equal(mine, other)
            assert mine.dtype == other.dtype
        for row in np.flatnonzero(a[2] | a[3]):
            n_ended += 1
            np.testing.assert_array_equal(a[4]["final_obs"][row], b[4]["final_obs"][row])
    assert n_ended > 5


# -- arrays ---------------------------------------------------------------------------------------


def test_an_env_that_mutates_one_buffer_does_not_change_what_was_returned() -> None:
    env = make(envs.MutatingEnv, length=5)
    seen = [env.reset(seed=0)[0].copy()]
    held: list[tuple[np.ndarray, float]] = []
    for _ in range(5):
        result = env.step(zeros(env))
        for array, value in held:  # what the last call returned is valid until this one returned
            assert array[0, 0] == value
        held = [(result[0], float(result[0][0, 0]))]
        seen.append(result[0].copy())
    assert [float(o[0, 0]) for o in seen] == [0, 1, 2, 3, 4, 0]
    assert result[4]["final_obs"].tolist() == [[5.0]]


def test_actions_may_be_overwritten_by_the_caller() -> None:
    class KeepingEnv(envs.CountingEnv):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = spaces.Box(-1, 1, (2,), np.float32)
            self.kept: list[np.ndarray] = []

        def step(self, action: Any):
            self.kept.append(action)
            return super().step(action)

    env = InProcessVectorEnv([KeepingEnv], env_id="x")
    env.reset(seed=0)
    buffer = np.zeros((1, 2), np.float32)
    for value in (0.25, 0.5, 0.75):
        buffer[:] = value
        env.step(buffer)
    assert [float(a[0]) for a in env.envs[0].kept] == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    "actions", [np.zeros(3, int), np.zeros((2, 1), int), 0, np.zeros(2, float)]
)
def test_actions_of_another_shape_or_kind_are_refused(actions: Any) -> None:
    env = make(envs.CountingEnv, 2)
    env.reset(seed=0)
    with pytest.raises(AssertionError):
        env.step(actions)


def test_an_action_space_with_a_start_is_passed_on_as_it_is() -> None:
    env = make(envs.IdentityEnv, n=3, start=-1)
    env.reset(seed=0)
    for action in (-1, 0, 1):
        env.step(np.array([action]))
    assert env.envs[0].seen_actions == [-1, 0, 1]
    with pytest.raises(EnvironmentFailedError, match="AssertionError"):
        env.step(np.array([2]))


# -- seeds ----------------------------------------------------------------------------------------


def start_states(seed: int) -> list[bytes]:
    env = make_registered("CartPole-v1", 4)
    found = [row.tobytes() for row in env.reset(seed=seed)[0]]
    n_episodes = 0
    while n_episodes < 5:
        obs, _, terminated, _, _ = env.step(np.ones(4, int))
        if terminated[0]:
            n_episodes += 1
            found.append(obs[0].tobytes())
    return found


def test_start_states_differ_within_and_across_envs_and_repeat_with_the_seed() -> None:
    states = start_states(3)
    assert len(set(states)) == 9  # 4 envs at the first reset, 5 later episodes of the first
    assert start_states(3) == states
    assert start_states(4) != states


def test_sampled_actions_repeat_with_the_seed() -> None:
    def sample() -> list[Any]:
        env = make(envs.CountingEnv, 2)
        env.reset(seed=7)
        pairs = [(env.action_space.sample(), env.single_action_space.sample()) for _ in range(50)]
        return [(batch.tolist(), int(single)) for batch, single in pairs]

    assert sample() == sample()


def test_a_reset_without_seed_goes_on_with_the_generators() -> None:
    env = make_registered("CartPole-v1", 2)
    first, _ = env.reset(seed=1)
    first = first.copy()
    second = env.reset()[0].copy()
    assert (first != second).any()
    env.reset(seed=1)
    np.testing.assert_array_equal(env.reset()[0], second)


# -- errors ---------------------------------------------------------------------------------------


def test_an_exception_names_env_step_and_cause() -> None:
    env = make(envs.RaisingEnv, 3, at_step=3, at_seed=11)
    env.reset(seed=10)
    env.step(zeros(env))
    env.step(zeros(env))
    with pytest.raises(EnvironmentFailedError) as caught:
        env.step(zeros(env))
    text = str(caught.value)
    assert text == ("environment 1 (RaisingEnv) raised ValueError in step 3: the wheel came off")
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_exception_of_several_lines_is_told_in_one() -> None:
    class ChattyEnv(envs.RaisingEnv):
        def misbehave(self) -> Any:
            raise ValueError("shapes differ:\n  left:  3\n\n  right: 4\n")

    env = make(ChattyEnv, at_step=0)
    with pytest.raises(EnvironmentFailedError) as caught:
        env.reset(seed=0)
    assert str(caught.value).endswith("after step 0: shapes differ: left: 3 right: 4")


def test_an_exception_in_reset_is_named() -> None:
    with pytest.raises(EnvironmentFailedError, match=r"environment 0 .* in the reset"):
        make(envs.RaisingEnv, at_step=0).reset(seed=0)


def test_a_failed_build_closes_the_envs_that_were_built() -> None:
    closed = []

    class Closing(envs.CountingEnv):
        def close(self) -> None:
            closed.append(self)

    def refuse() -> gym.Env:
        raise ConfigError("no")

    with pytest.raises(ConfigError):
        InProcessVectorEnv([Closing, Closing, refuse], env_id="x")
    assert len(closed) == 2


def test_close_twice_is_one_close() -> None:
    env = make(envs.CountingEnv)
    closed = []
    env.envs[0].close = lambda: closed.append(1)
    env.close()
    env.close()
    assert closed == [1]
