from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.sticky_actions.wrapper import StickyActions
from tests.helpers.masked_envs import MaskedEnv
from tests.helpers.wrapper_envs import ForeignRandomEnv, NoisyEnv, ScriptedEnv
from utils.environment import build_env
from utils.errors import ConfigError
from utils.vector_envs import InProcessVectorEnv


def test_the_last_action_is_repeated_as_often_as_asked_for() -> None:
    n = 4000
    inner = ScriptedEnv([[0.0]] * (n + 1), actions=gym.spaces.Discrete(n))
    env = StickyActions(inner, probability=0.25)
    env.reset(seed=0)
    for i in range(n):
        env.step(i)
    taken = np.array(inner.taken)
    assert taken[0] == 0
    repeated = taken[1:] == taken[:-1]
    # what is not repeated is what was chosen
    assert (taken[1:][~repeated] == np.arange(1, n)[~repeated]).all()
    assert repeated.mean() == pytest.approx(0.25, abs=0.035)  # five deviations of 0.0068
    # an action sticks again with the same probability
    assert (repeated[1:] & repeated[:-1]).mean() == pytest.approx(0.0625, abs=0.02)


def test_nothing_sticks_from_one_episode_to_the_next() -> None:
    inner = ScriptedEnv([[0.0], [1.0]])
    env = StickyActions(inner, probability=0.99)
    for action in (1, 2, 3):
        env.reset(seed=0)
        env.step(action)
    assert inner.taken == [1, 2, 3]


@pytest.mark.parametrize("kind", [NoisyEnv, ForeignRandomEnv])
def test_the_seed_decides_what_sticks(kind: type) -> None:
    def play(seed: int) -> list[float]:
        env = StickyActions(kind(), probability=0.5)
        env.reset(seed=seed)
        return [float(env.step(i % 4)[0][0]) for i in range(8)]

    assert play(1) == play(1)
    assert len({tuple(play(seed)) for seed in range(5)}) > 1


def test_a_saved_episode_goes_on_with_the_same_luck() -> None:
    def make() -> InProcessVectorEnv:
        return InProcessVectorEnv(
            [lambda: StickyActions(NoisyEnv(), probability=0.5)] * 3, env_id="x"
        )

    def play(env: InProcessVectorEnv, n: int) -> list[list[float]]:
        steps = (env.step(np.array([i % 4, 1, (i + 2) % 4])) for i in range(n))
        return [step[0][:, 0].tolist() for step in steps]

    env, other = make(), make()
    env.reset(seed=3)
    play(env, 13)
    state = env.get_state()
    expected = play(env, 20)
    assert other.set_state(state)[1].all()
    assert play(other, 20) == expected


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.1])
def test_a_probability_that_does_nothing_is_refused(probability: float) -> None:
    with pytest.raises(ConfigError, match="probability must be"):
        StickyActions(NoisyEnv(), probability=probability)


def test_an_environment_that_repeats_by_itself_is_refused() -> None:
    env = NoisyEnv()
    env.spec = gym.envs.registration.EnvSpec("X-v0", kwargs={"repeat_action_probability": 0.25})
    with pytest.raises(ConfigError, match="X-v0 repeats actions itself"):
        StickyActions(env)


def test_a_family_that_repeats_unasked_is_refused() -> None:
    pytest.importorskip("stable_retro")
    with pytest.raises(ConfigError, match="Airstriker-Genesis-v0 repeats actions itself"):
        build_env(
            "Retro/Airstriker-Genesis-v0",
            n_envs=1,
            vectorization="sync",
            env_wrappers=[{"id": "StickyActions"}],
        )


@pytest.mark.parametrize("acts", ["discrete", "multi_discrete", "multi_binary"])
def test_what_is_not_allowed_any_more_does_not_stick(acts: str) -> None:
    rng = np.random.default_rng(0)
    env = StickyActions(MaskedEnv(acts=acts, length=400), probability=0.5)
    _, info = env.reset(seed=0)
    n_other = 0
    for _ in range(400):
        mask = np.asarray(info["action_mask"])
        if acts == "discrete":
            action: Any = int(rng.choice(np.flatnonzero(mask))) - 2
        elif acts == "multi_discrete":
            parts = np.split(mask, [3])
            action = np.array([rng.choice(np.flatnonzero(part)) for part in parts])
        else:
            action = (rng.random(4) < 0.5) & (mask != 0)
        _, reward, terminated, _, info = env.step(action)
        assert not terminated  # a forbidden action ends an episode
        assert reward >= 0
        n_other += not np.array_equal(env._last, action)
    assert n_other > 20  # it does stick
