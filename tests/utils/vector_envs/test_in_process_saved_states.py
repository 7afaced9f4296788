from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gym_wrappers.episodic_life.wrapper import EpisodicLife
from tests.helpers import envs
from tests.helpers.in_process_envs import make, make_registered, play_lives, zeros
from utils.errors import CheckpointError
from utils.vector_envs import InProcessVectorEnv


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
