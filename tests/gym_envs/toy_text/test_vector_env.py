"""Toy text environments as arrays against Gymnasium's own, one at a time."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from gym_envs.toy_text.table import read_table
from utils.environment import build_env
from utils.environment.families.toy_text import why_not_native
from utils.errors import CheckpointError, ConfigError

OPTIONS = {
    "env_kwargs": {},
    "env_wrappers": (),
    "grayscale_obs": False,
    "resize_obs": None,
    "frame_stack": 1,
    "channel_order": "auto",
}
CASES = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False, "desc": ["SFS", "HFF", "FFG"]}),
    ("FrozenLake8x8-v1", {"success_rate": 0.9}),
    ("CliffWalking-v1", {}),
    ("CliffWalkingSlippery-v1", {}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
]


@pytest.mark.parametrize(("env_id", "kwargs"), CASES)
def test_every_number_is_that_of_gymnasium(env_id, kwargs) -> None:
    shared = {"n_envs": 5, "env_kwargs": kwargs, "max_episode_steps": 40}
    ours, theirs = build_env(env_id, **shared), build_env(env_id, vectorization="sync", **shared)
    assert (ours.vectorization_name, theirs.vectorization_name) == ("native", "sync")
    for name in ("max_episode_steps", "reward_threshold", "render_fps", "single_action_space"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.single_observation_space == theirs.single_observation_space
    first, expected = ours.reset(seed=11)[0], theirs.reset(seed=11)[0]
    assert (first.tolist(), first.dtype) == (expected.tolist(), expected.dtype)
    n_terminated = n_truncated = 0
    for _ in range(250):
        action = ours.action_space.sample()
        assert action.tolist() == theirs.action_space.sample().tolist()
        *mine, told = ours.step(action)
        *other, expected = theirs.step(action)
        for part, whole in zip(mine, other, strict=True):
            assert (part.tolist(), part.dtype) == (whole.tolist(), whole.dtype)
        assert told.keys() == expected.keys()
        if told:
            rows = told["_final_obs"]
            assert rows.tolist() == expected["_final_obs"].tolist()
            assert told["final_obs"][rows].tolist() == expected["final_obs"][rows].tolist()
        n_terminated, n_truncated = n_terminated + mine[2].sum(), n_truncated + mine[3].sum()
    assert n_terminated + n_truncated > 20


def test_the_table_by_hand() -> None:
    core = gym.make("FrozenLake-v1", desc=["SG"], map_name=None, success_rate=0.5).unwrapped
    table = read_table(core)
    assert table.cumulated.shape == (2, 4, 3)
    # From the start to the right (2): half as meant into the goal, a quarter each up and down.
    assert table.cumulated[0, 2].tolist() == [0.25, 0.75, 1.0]
    assert table.next_state[0, 2].tolist() == [0, 1, 0]
    assert table.reward[0, 2].tolist() == [0.0, 1.0, 0.0]
    assert table.terminated[0, 2].tolist() == [False, True, False]
    # The goal has one outcome; what is missing of the others is never drawn.
    assert table.cumulated[1, 0].tolist() == [1.0, -1.0, -1.0]
    assert table.starts.tolist() == [1.0, 1.0]


def test_where_sums_fall_short_of_1_the_first_outcome_is_taken_as_by_gymnasium() -> None:
    env = build_env("FrozenLake-v1", n_envs=1)
    env.reset(seed=0)
    env._cumulated[:] = [0.1, 0.2, 0.3]

    class Late:
        def random(self) -> float:
            return 0.9

    env._generators = [Late()]
    env._state[:] = 4
    observation, *_ = env.step(np.array([2]))
    assert observation.tolist() == [env.table.next_state[4, 2, 0]]
    env.table.starts[:] = 0.5
    env._begin([0])
    assert env._state.tolist() == [0]


def test_a_saved_state_goes_on_number_for_number() -> None:
    whole = build_env("FrozenLake-v1", n_envs=4)
    whole.reset(seed=3)
    actions = [whole.action_space.sample() for _ in range(60)]
    for action in actions[:20]:
        whole.step(action)
    saved = whole.get_state()
    resumed = build_env("FrozenLake-v1", n_envs=4)
    observation, restored = resumed.set_state(saved)
    assert restored.all()
    assert observation.tolist() == whole._state.tolist()
    for action in actions[20:]:
        for part, other in zip(resumed.step(action)[:4], whole.step(action)[:4], strict=True):
            assert part.tolist() == other.tolist()
    assert (resumed.action_space.sample() == whole.action_space.sample()).all()


def test_a_state_of_another_kind_begins_anew_and_another_number_is_refused() -> None:
    other = build_env("FrozenLake-v1", n_envs=2, vectorization="sync")
    other.reset(seed=1)
    ours = build_env("FrozenLake-v1", n_envs=2)
    observation, restored = ours.set_state(other.get_state())
    assert (observation.tolist(), restored.tolist()) == ([0, 0], [False, False])
    with pytest.raises(CheckpointError, match="n_envs: 2"):
        build_env("FrozenLake-v1", n_envs=3).set_state(ours.get_state())


def test_arrays_that_were_returned_are_not_written_to_again() -> None:
    env = build_env("FrozenLake-v1", n_envs=8)
    kept, _ = env.reset(seed=0)
    seen = []
    for _ in range(30):
        seen.append((kept, kept.tolist()))
        kept = env.step(env.action_space.sample())[0]
    assert all(array.tolist() == numbers for array, numbers in seen)


@pytest.mark.parametrize("action", [-1, 4])
def test_an_action_that_does_not_exist_is_refused(action) -> None:
    env = build_env("FrozenLake-v1", n_envs=2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.array([0, action]))


@pytest.mark.parametrize(
    ("env_id", "changes", "reason"),
    [
        ("FrozenLake-v1", {}, None),
        ("FrozenLake-v1", {"frame_stack": 4}, "it takes no frame_stack"),
        ("FrozenLake-v1", {"env_wrappers": ({"id": "X"},)}, "it takes no env_wrappers"),
        ("Taxi-v4", {"env_kwargs": {"fickle_passenger": True}}, "fickle_passenger"),
        ("FrozenLake-v1", {"env_kwargs": {"map_name": None}}, "another map"),
        ("FrozenLake-v1", {"env_kwargs": {"map_name": None, "desc": ["SG"]}}, None),
    ],
)
def test_what_is_no_table_is_stepped_one_by_one(env_id, changes, reason) -> None:
    found = why_not_native(env_id, options=OPTIONS | changes)
    assert found == reason if reason is None else reason in (found or "")
    if "env_kwargs" in changes and reason:
        env = build_env(env_id, n_envs=2, **changes)
        assert env.vectorization_name == "sync"
        env.close()


class Generous(FrozenLakeEnv):
    """A lake that pays for every step, which its table does not say."""

    def step(self, action: int) -> tuple:
        observation, reward, *rest = super().step(action)
        return observation, reward + 1.0, *rest


@pytest.fixture
def register(monkeypatch):
    """Register environments for one test."""
    monkeypatch.setattr(gym.envs.registration, "registry", dict(gym.registry))
    return gym.register


def test_an_environment_of_ones_own_by_such_a_name_is_stepped_itself(register) -> None:
    register("FrozenLake-Generous-v0", entry_point=Generous, kwargs={"map_name": "4x4"})
    env = build_env("FrozenLake-Generous-v0", n_envs=2)
    assert env.vectorization_name == "sync"
    env.reset(seed=0)
    assert env.step(np.array([0, 0]))[1].tolist() == [1.0, 1.0]
    env.close()
    with pytest.raises(ConfigError, match="registered as another environment than Gymnasium's"):
        build_env("FrozenLake-Generous-v0", n_envs=2, vectorization="native")


def test_arguments_that_an_id_is_registered_with_count_too(register) -> None:
    taxi = gym.spec("Taxi-v4").entry_point
    register("Taxi-Fickle-v0", entry_point=taxi, kwargs={"fickle_passenger": True})
    assert "fickle_passenger" in (why_not_native("Taxi-Fickle-v0", options=OPTIONS) or "")
    asked = OPTIONS | {"env_kwargs": {"fickle_passenger": False}}
    assert why_not_native("Taxi-Fickle-v0", options=asked) is None


def test_pictures_and_masks_come_from_gymnasium_and_threads_are_refused() -> None:
    with_masks = build_env("Taxi-v4", n_envs=1, action_masks=True)
    assert with_masks.vectorization_name == "sync"
    assert build_env("Taxi-v4", n_envs=1, render_mode="ansi").vectorization_name == "sync"
    with pytest.raises(ConfigError, match="one thread, got 2: leave n_workers out"):
        build_env("Taxi-v4", n_envs=4, n_workers=2)
