"""Wrappers travel through a run: what they change stays raw in reports, and play sees the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gym_wrappers import EnvWrapperRegistry
from tests.helpers.played_runs import make_config
from utils.config import config_from_dict
from utils.environment import build_env_from_config
from utils.playback.environment import build_playback_env

CART_POLE: dict[str, dict[str, Any]] = {
    "CartPolePotential": {"gamma": 0.99, "scale": 3.0},
    "StateCountBonus": {"cell_size": 0.1, "beta": 2.0},
    "FrameSkip": {"skip": 2},
    "StickyActions": {"probability": 0.3},
    "ActionRemap": {"actions": [1, 0]},
    "TimeLimit": {"max_episode_steps": 40},
    "ObservationPrinter": {"every": 1000},
    "PixelObservation": {},
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "DiscreteEncoder": ("FrozenLake-v1", {}),
    "ActionGrid": ("Pendulum-v1", {"n_values": 3}),
    "MountainCarEnergy": ("MountainCar-v0", {"gamma": 0.99}),
}
CASES = {name: ("CartPole-v1", arguments) for name, arguments in CART_POLE.items()} | OTHERS


def play(env: Any, n: int) -> list[tuple[Any, float, float]]:
    """Take n steps; return observation, the learner's reward and the raw one of each."""
    env.reset(seed=4)
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(n):
        action = np.array([rng.integers(2)])
        observation, reward, *_, infos = env.step(action)
        raw = float(infos.get("raw_reward", reward)[0])
        steps.append((observation[0].tolist(), float(reward[0]), raw))
    return steps


@pytest.mark.parametrize("name", CASES)
def test_a_stored_config_builds_the_same_environment_for_play(name: str) -> None:
    env_id, arguments = CASES[name]
    config = make_config(env_id=env_id, gamma=0.99, env_wrappers=[{"id": name, **arguments}])
    stored = config_from_dict(config.to_dict())
    trained = build_env_from_config(stored, n_envs=1)
    played = build_playback_env(stored, render_mode="rgb_array")
    try:
        assert trained.single_observation_space == played.single_observation_space
        assert trained.single_action_space == played.single_action_space
        assert trained.max_episode_steps == played.max_episode_steps
        n = 3 if name == "PixelObservation" else 60
        assert play(trained, n) == play(played, n)
    finally:
        trained.close()
        played.close()


@pytest.mark.parametrize("name", ["CartPolePotential", "StateCountBonus", "MountainCarEnergy"])
def test_what_the_learner_is_paid_and_what_is_reported_are_told_apart(name: str) -> None:
    env_id, arguments = CASES[name]
    env = build_env_from_config(
        make_config(env_id=env_id, gamma=0.99, env_wrappers=[{"id": name, **arguments}]), n_envs=1
    )
    steps = play(env, 30)
    env.close()
    assert {abs(raw) for _, _, raw in steps} == {1.0}
    assert any(abs(reward - raw) > 1e-3 for _, reward, raw in steps)


def test_every_wrapper_without_an_environment_of_its_own_is_tried_here() -> None:
    elsewhere = {"ClipReward", "EpisodicLife", "MarioProgress", "PongShaping"}
    elsewhere |= {"ScaleObservation", "SelectObservation"}
    assert set(EnvWrapperRegistry.names()) - elsewhere == set(CASES)
