"""Compiled environments against Gymnasium's own, one step at a time and over whole episodes."""

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.physics import list_classic_specs
from gym_envs.simd import SimdVectorEnv

SPECS = list_classic_specs()
ids = [spec.env_id for spec in SPECS]
# Half the width of the states that a step is tried from. CartPole's are those of running episodes.
# An Acrobot this fast is faster than any policy makes it.
HIGHEST = {
    "CartPole-v1": (2.4, 3.0, 0.2094, 3.0),
    "Acrobot-v1": (np.pi, np.pi, 5.0, 5.0),
    "Pendulum-v1": (np.pi, 8.0),
}


def states_of_running_episodes(spec, n, generator):
    if spec.env_id in HIGHEST:
        high = np.array(HIGHEST[spec.env_id])
        low = -high
    else:
        goal = 0.45 if spec.env_id == "MountainCarContinuous-v0" else 0.5
        low, high = np.array([-1.2, -0.07]), np.array([goal, 0.07])
    states = generator.uniform(low, high, (n, spec.n_state)).astype(np.float32)
    if spec.env_id.startswith("MountainCar"):
        states[: n // 10, 0] = -1.2
    return states


def draw_actions(spec, n, generator):
    """Draw actions, real ones also from beyond their bounds."""
    if spec.n_actions:
        return generator.integers(spec.n_actions, size=n)
    return generator.uniform(-1.5, 1.5, (n, 1)).astype(np.float32) * np.float32(spec.action_limit)


def step_gymnasiums(env, state, action):
    env.state = state.astype(np.float64)
    if hasattr(env, "steps_beyond_terminated"):
        env.steps_beyond_terminated = None
    return env.step(int(action) if action.ndim == 0 else action)


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_one_step_from_any_state(spec):
    n = 2_000
    generator = np.random.default_rng(1)
    states = states_of_running_episodes(spec, n, generator)
    actions = draw_actions(spec, n, generator)
    env = SimdVectorEnv(spec.env_id, n, copy=False)
    env.reset(seed=0)
    env.arrays.state[:] = states.T
    _, reward, terminated, truncated, _ = env.step(actions)
    theirs = gym.make(spec.env_id).unwrapped
    theirs.reset(seed=0)
    expected = [step_gymnasiums(theirs, *pair) for pair in zip(states, actions, strict=True)]
    observations, rewards, terminations, *_ = zip(*expected, strict=True)
    # An Acrobot multiplies rounding errors by some ten in the four stages of a step.
    tolerance = 2e-5 if spec.env_id == "Acrobot-v1" else 1e-6
    np.testing.assert_allclose(
        env.arrays.final_observation, np.array(observations), rtol=tolerance, atol=tolerance
    )
    np.testing.assert_allclose(reward, np.array(rewards, np.float64), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(terminated, terminations)
    assert not truncated.any()
    if spec.env_id != "Pendulum-v1":
        assert terminated.sum() > 10


def play_gymnasiums(spec, state, actions, limit):
    """Step until the episode ends; return all observations, the return and how it ended."""
    env = gym.make(spec.env_id).unwrapped
    env.reset(seed=0)
    env.state = state.astype(np.float64)
    observations, total = [], 0.0
    for t in range(limit):
        action = int(actions[t]) if spec.n_actions else actions[t]
        observation, reward, terminated, _, _ = env.step(action)
        observations.append(observation)
        total += float(reward)
        if terminated:
            return np.array(observations), total, True
    return np.array(observations), total, False


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_whole_episodes_with_the_same_actions(spec):
    n, limit = 8, 60  # an Acrobot and a Pendulum are chaotic: errors double every few steps
    env = SimdVectorEnv(spec.env_id, n, max_episode_steps=limit)
    env.reset(seed=3)
    first = env.arrays.state.T.copy()
    generator = np.random.default_rng(2)
    actions = np.array([draw_actions(spec, n, generator) for _ in range(limit)])
    expected = [play_gymnasiums(spec, first[i], actions[:, i], limit) for i in range(n)]
    tolerance = 1e-3 if spec.env_id in ("Acrobot-v1", "Pendulum-v1") else 2e-5
    running = np.ones(n, dtype=bool)
    for t in range(limit):
        observation, _, terminated, truncated, infos = env.step(actions[t])
        done = terminated | truncated
        assert done.any() == ("final_obs" in infos)
        for i in np.flatnonzero(running):
            path, total, has_terminated = expected[i]
            seen = infos["final_obs"][i] if done[i] else observation[i]
            np.testing.assert_allclose(seen, path[t], rtol=tolerance, atol=tolerance)
            assert done[i] == (t == len(path) - 1)
            if done[i]:
                assert infos["_final_obs"][i]
                assert (terminated[i], truncated[i]) == (has_terminated, not has_terminated)
                assert env.episode_returns[i] == pytest.approx(total, rel=1e-5)
                assert env.episode_lengths[i] == len(path)
                assert np.abs(observation[i] - path[-1]).max() > 1e-6  # of a new episode
        running &= ~done
    assert not running.any()


def test_actions_beyond_their_bounds_are_clipped_but_paid_for():
    for env_id, pays_for_more in [("MountainCarContinuous-v0", True), ("Pendulum-v1", False)]:
        env = SimdVectorEnv(env_id, 2, copy=False)
        env.reset(seed=0)
        env.arrays.state[:, 1] = env.arrays.state[:, 0]
        limit = env.single_action_space.high[0]
        _, reward, *_ = env.step(np.array([[limit], [2 * limit]], np.float32))
        assert (reward[0] > reward[1]) == pays_for_more
        np.testing.assert_array_equal(env.arrays.state[:, 0], env.arrays.state[:, 1])
