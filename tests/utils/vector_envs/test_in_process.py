from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from gym_wrappers.clip_reward.wrapper import ClipReward
from gym_wrappers.episodic_life.wrapper import EpisodicLife
from tests.helpers import envs
from utils.errors import CheckpointError, ConfigError, EnvironmentFailedError
from utils.vector_envs import InProcessVectorEnv


def make(env_class: type, n_envs: int = 1, **kwargs: Any) -> InProcessVectorEnv:
    return InProcessVectorEnv([lambda: env_class(**kwargs)] * n_envs, env_id=env_class.__name__)


def make_registered(env_id: str, n_envs: int) -> InProcessVectorEnv:
    factory = lambda: gym.make(env_id, disable_env_checker=True)  # noqa: E731
    return InProcessVectorEnv([factory] * n_envs, env_id=env_id)


def zeros(env: InProcessVectorEnv) -> np.ndarray:
    return np.zeros(env.action_space.shape, env.single_action_space.dtype)


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


# -- spaces ---------------------------------------------------------------------------------------

NESTED = spaces.Dict(
    {
        "b": spaces.Box(-1, 1, (2,), np.float64),
        "a": spaces.Dict({"x": spaces.MultiDiscrete([3, 2]), "w": spaces.Discrete(4)}),
    }
)
NESTED_VALUE = {"b": np.array([0.1, 0.2]), "a": {"x": np.array([2, 0]), "w": 3}}


def test_float64_becomes_float32() -> None:
    env = make(
        envs.SpaceEnv, space=spaces.Box(-1e300, 1, (2,), np.float64), value=np.array([0.1, 0.2])
    )
    obs, _ = env.reset(seed=0)
    assert obs.dtype == env.single_observation_space.dtype == np.float32
    assert obs.tolist() == [[np.float32(0.1), np.float32(0.2)]]


@pytest.mark.parametrize(
    ("space", "value", "shape", "dtype"),
    [
        (spaces.Discrete(500), 499, (2,), np.int64),
        (spaces.Discrete(3, start=-1), -1, (2,), np.int64),
        (spaces.MultiDiscrete([4, 2]), np.array([3, 1]), (2, 2), np.int64),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), (2, 3), np.int8),
        (spaces.Box(0, 9, (4,), np.int32), np.full(4, 7, np.int32), (2, 4), np.int32),
        (spaces.Box(0, 1, (5, 5, 5), np.float32), np.ones((5, 5, 5)), (2, 5, 5, 5), np.float32),
        (spaces.Box(0, 10, (7, 7, 3), np.uint8), np.full((7, 7, 3), 9), (2, 7, 7, 3), np.uint8),
    ],
)
def test_observations_keep_their_values(
    space: gym.Space, value: Any, shape: tuple[int, ...], dtype: type
) -> None:
    env = make(envs.SpaceEnv, 2, space=space, value=value)
    obs, _ = env.reset(seed=0)
    assert (obs.shape, obs.dtype) == (shape, dtype)
    np.testing.assert_array_equal(obs[0], value)
    np.testing.assert_array_equal(env.step(zeros(env))[0][1], value)
    assert env.observation_space.shape == shape


def test_nested_observations_become_flat_leaves_in_sorted_order() -> None:
    env = make(envs.SpaceEnv, 2, space=NESTED, value=NESTED_VALUE, length=2)
    obs, _ = env.reset(seed=0)
    assert list(obs) == ["a.w", "a.x", "b"] == list(env.single_observation_space)
    assert obs["a.w"].tolist() == [3, 3]
    assert obs["a.x"].tolist() == [[2, 0], [2, 0]]
    assert obs["b"].dtype == np.float32
    env.step(zeros(env))
    infos = env.step(zeros(env))[4]
    assert infos["final_obs"]["a.x"].tolist() == [[2, 0], [2, 0]]


def test_tuple_observations_are_named_by_position() -> None:
    env = make(
        envs.SpaceEnv,
        space=spaces.Tuple([spaces.Discrete(5), spaces.MultiBinary(2)]),
        value=(4, np.array([1, 0])),
    )
    obs, _ = env.reset(seed=0)
    assert {key: value.tolist() for key, value in obs.items()} == {"0": [4], "1": [[1, 0]]}


def test_unsupported_spaces_are_refused_by_name() -> None:
    space = spaces.Dict({"mission": spaces.Text(5), "image": spaces.Box(0, 1, (2,), np.float32)})
    with pytest.raises(ConfigError, match=r"SpaceEnv.*Text at 'mission'.*env_wrappers"):
        make(envs.SpaceEnv, space=space)

    class TupleAction(envs.CountingEnv):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = spaces.Tuple([spaces.Discrete(2)])

    with pytest.raises(ConfigError, match="actions of kind Tuple"):
        make(TupleAction)


def test_an_observation_of_another_shape_than_declared_is_an_error_not_a_broadcast() -> None:
    env = make(envs.SpaceEnv, space=spaces.Box(0, 1, (3,), np.float32), value=np.ones(1))
    with pytest.raises(EnvironmentFailedError, match=r"\(1,\).*\(3,\)"):
        env.reset(seed=0)


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


# -- what wrappers change -------------------------------------------------------------------------


def test_true_rewards_and_clipped_rewards_are_both_told() -> None:
    env = InProcessVectorEnv([lambda: ClipReward(envs.RewardListEnv())], env_id="x")
    env.reset(seed=0)
    pairs = []
    for _ in range(3):
        _, reward, _, _, infos = env.step(zeros(env))
        pairs.append((float(reward[0]), float(infos["raw_reward"][0])))
    assert pairs == [(1.0, 5.0), (1.0, 5.0), (-1.0, -3.0)]


def test_the_innermost_wrapper_knows_the_true_reward() -> None:
    factory = lambda: ClipReward(ClipReward(envs.RewardListEnv()), low=-0.5, high=0.5)  # noqa: E731
    env = InProcessVectorEnv([factory], env_id="x")
    env.reset(seed=0)
    _, reward, _, _, infos = env.step(zeros(env))
    assert (reward.tolist(), infos["raw_reward"].tolist()) == ([0.5], [5.0])


def play_lives(env: InProcessVectorEnv, n: int) -> tuple[int, list[bool]]:
    n_terminations, over = 0, []
    for _ in range(n):
        _, _, terminated, _, infos = env.step(zeros(env))
        n_terminations += int(terminated[0])
        over.append(bool(infos["episode_over"][0]))
    return n_terminations, over


def test_lost_lives_end_the_learners_episode_and_not_the_game() -> None:
    env = InProcessVectorEnv([lambda: EpisodicLife(envs.LivesEnv())], env_id="x")
    env.reset(seed=0)
    n_terminations, over = play_lives(env, 30)
    assert n_terminations == 3
    assert [i for i, is_over in enumerate(over, start=1) if is_over] == [30]


def test_a_reset_between_lives_begins_a_new_game() -> None:
    env = InProcessVectorEnv([lambda: EpisodicLife(envs.LivesEnv())], env_id="x")
    env.reset(seed=0)
    play_lives(env, 15)
    assert env.reset()[0].tolist() == [[0.0]]
    assert play_lives(env, 30)[1].index(True) == 29


def test_without_such_wrappers_infos_are_empty() -> None:
    env = make(envs.LivesEnv)
    assert env.reset(seed=0)[1] == {}
    assert env.step(zeros(env))[4] == {}
    assert env.env_infos() == [{"lives": 3}]


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


# -- saved states ---------------------------------------------------------------------------------


def play(env: Any, actions: np.ndarray) -> list[bytes]:
    record = []
    for action in actions:
        obs, reward, terminated, truncated, infos = env.step(action)
        mask = terminated | truncated
        final = infos["final_obs"][mask].tobytes() if mask.any() else b""
        leaf = obs.tobytes()
        record.append(leaf + reward.tobytes() + mask.tobytes() + final)
    return record


@pytest.mark.parametrize(
    ("env_id", "n_before"),
    [("CartPole-v1", 0), ("CartPole-v1", 11), ("CartPole-v1", 700), ("MountainCar-v0", 450)],
)
def test_a_restored_env_goes_on_bit_for_bit(env_id: str, n_before: int) -> None:
    env = make_registered(env_id, 3)
    n_actions = int(env.single_action_space.n)
    actions = np.random.default_rng(5).integers(0, n_actions, (n_before + 300, 3))
    env.reset(seed=9)
    play(env, actions[:n_before])
    env.action_space.sample()
    state = env.get_state()
    expected = play(env, actions[n_before:])
    sample = env.action_space.sample().tolist()

    other = make_registered(env_id, 3)
    assert other.set_state(state)[1].tolist() == [True] * 3
    assert play(other, actions[n_before:]) == expected
    assert other.action_space.sample().tolist() == sample
    # Restored into an env that has lived, and from a state that was restored before.
    other.set_state(state)
    env.reset(seed=1)
    assert env.set_state(other.get_state())[1].all()
    assert play(env, actions[n_before:]) == expected


def test_the_restored_observation_is_the_saved_one() -> None:
    env = make_registered("CartPole-v1", 2)
    env.reset(seed=0)
    obs = env.step(np.ones(2, int))[0].copy()
    np.testing.assert_array_equal(
        make_registered("CartPole-v1", 2).set_state(env.get_state())[0], obs
    )


def test_states_hold_plain_values_only() -> None:
    def check(value: Any) -> None:
        if isinstance(value, dict):
            assert all(isinstance(key, str) for key in value)
            [check(part) for part in value.values()]
        elif isinstance(value, list):
            [check(part) for part in value]
        else:
            assert value is None or type(value) in (bool, int, float, str, np.ndarray), value
            assert not isinstance(value, np.ndarray) or value.dtype != object

    env = make_registered("CartPole-v1", 2)
    env.reset(seed=0)
    play(env, np.zeros((300, 2), int))
    check(env.get_state())


@pytest.mark.parametrize("part", ["generator", "observation", "reward"])
def test_a_replay_that_leads_elsewhere_is_not_called_restored(part: str) -> None:
    env = make_registered("CartPole-v1", 2)
    env.reset(seed=0)
    play(env, np.zeros((5, 2), int))
    state = env.get_state()
    saved = state["environments"][1]
    if part == "generator":
        saved["generator"] = np.random.default_rng(5).bit_generator.state
    elif part == "observation":
        saved["observation"][0][2] = np.nextafter(saved["observation"][0][2], np.float32(9))
    else:
        saved["reward"] = 2.0
    assert env.set_state(state)[1].tolist() == [True, False]


def test_an_env_that_carries_things_over_is_not_called_restored() -> None:
    env = make(envs.CarryOverEnv, 2, length=4)
    env.reset(seed=0)
    play(env, np.zeros((600, 2), int))  # several stretches of the log
    state = env.get_state()
    other = make(envs.CarryOverEnv, 2, length=4)
    obs, restored = other.set_state(state)
    assert restored.tolist() == [False, False]
    assert (obs % 100 == 0).all()  # a fresh episode
    np.testing.assert_array_equal(other.step(zeros(other))[0], obs + 1)


def test_an_env_that_cannot_be_restored_does_not_repeat_its_stream() -> None:
    class ForgetfulEnv(envs.IdentityEnv):
        played = 0

        def reset(self, **kwargs: Any):
            state, info = super().reset(**kwargs)
            type(self).played += 1
            return state, info

        def step(self, action: Any):
            observation, _, terminated, truncated, info = super().step(action)
            return observation, float(type(self).played), terminated, truncated, info

    def stream(env: InProcessVectorEnv) -> list[int]:
        return [int(env.step(np.zeros(1, int))[0][0]) for _ in range(40)]

    env = make(ForgetfulEnv, n=100)
    env.reset(seed=0)
    first = stream(env)
    state = env.get_state()
    other = make(ForgetfulEnv, n=100)
    _, restored = other.set_state(state)
    assert restored.tolist() == [False]
    assert stream(other)[:20] != first[:20]


def test_a_lost_life_is_replayed_within_its_game() -> None:
    make_lives = lambda: InProcessVectorEnv(  # noqa: E731
        [lambda: EpisodicLife(envs.LivesEnv())], env_id="x"
    )
    env = make_lives()
    env.reset(seed=0)
    play_lives(env, 45)  # one game, and the second half of the second life of the next
    state = env.get_state()
    other = make_lives()
    obs, restored = other.set_state(state)
    assert (obs.tolist(), restored.tolist()) == ([[15.0]], [True])
    assert play_lives(other, 15) == play_lives(env, 15) == (2, [False] * 14 + [True])


def test_a_state_of_another_number_of_envs_is_refused() -> None:
    env = make(envs.CountingEnv, 2)
    env.reset(seed=0)
    with pytest.raises(CheckpointError, match="n_envs: 2"):
        make(envs.CountingEnv, 3).set_state(env.get_state())


def test_a_log_that_is_too_long_is_dropped_and_said_to_be(monkeypatch: Any) -> None:
    monkeypatch.setattr("utils.vector_envs.episode_log._MOST_ROWS", 64)
    env = InProcessVectorEnv(
        [lambda: envs.CountingEnv(length=10**6), lambda: envs.CountingEnv(length=300)], env_id="x"
    )
    env.reset(seed=0)
    play(env, np.zeros((310, 2), int))
    state = env.get_state()
    assert max(len(saved["log"]["actions"]) for saved in state["environments"]) <= 64
    obs, restored = env.set_state(state)
    # The first env's episode began 310 steps ago; the second's 10 steps ago.
    assert restored.tolist() == [False, True]
    assert obs.tolist() == [[0.0], [10.0]]
