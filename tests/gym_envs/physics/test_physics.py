"""Physics in plain Python against Gymnasium's own environments, in float64."""

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.physics import classic_spec, list_classic_specs, rebind
from gym_envs.physics.scalar_math import MATH_NAMES

SPECS = list_classic_specs()
ids = [spec.env_id for spec in SPECS]


def random_states(spec, n, generator):
    """States all over the reachable space, the edges included."""
    limits = {
        "CartPole-v1": (2.5, 3.0, 0.22, 3.0),
        "Acrobot-v1": (np.pi, np.pi, 4 * np.pi, 9 * np.pi),
        "Pendulum-v1": (np.pi, 8.0),
    }
    if spec.env_id in limits:
        high = np.array(limits[spec.env_id])
        low = -high
    else:
        low, high = np.array([-1.2, -0.07]), np.array([0.6, 0.07])
    states = generator.uniform(low, high, (n, spec.n_state))
    if spec.env_id.startswith("MountainCar"):
        states[: n // 10, 0] = -1.2
    return states


def random_action(spec, generator):
    if spec.n_actions:
        return int(generator.integers(spec.n_actions))
    return float(generator.uniform(-1.5, 1.5) * spec.action_limit)


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_one_step_from_any_state_is_gymnasiums(spec):
    env = gym.make(spec.env_id).unwrapped
    env.reset(seed=0)
    generator = np.random.default_rng(1)
    n_terminated = 0
    for state in random_states(spec, 2_000, generator):
        action = random_action(spec, generator)
        env.state = state.copy()
        if hasattr(env, "steps_beyond_terminated"):
            env.steps_beyond_terminated = None
        given = action if spec.n_actions else np.array([action])
        observation, reward, terminated, _, _ = env.step(given)
        *after, our_reward, our_terminated = spec.transition(*state, action)
        np.testing.assert_allclose(spec.observe(*after), observation, rtol=3e-7, atol=3e-7)
        expected = np.array(env.state, dtype=np.float64)
        if spec.env_id == "Pendulum-v1":
            expected[0] = (expected[0] + np.pi) % (2 * np.pi) - np.pi
        # MountainCarContinuous keeps its state in float32, the others in float64.
        tolerance = 1e-7 if spec.env_id == "MountainCarContinuous-v0" else 1e-12
        np.testing.assert_allclose(after, expected, rtol=tolerance, atol=tolerance)
        assert float(our_reward) == pytest.approx(float(reward), rel=1e-12)
        assert bool(our_terminated) == bool(terminated)
        n_terminated += terminated
    if spec.env_id != "Pendulum-v1":
        assert n_terminated > 10


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_spaces_and_limits_are_gymnasiums(spec):
    env = gym.make(spec.env_id)
    assert spec.observation_space() == env.observation_space
    assert spec.action_space() == env.action_space
    assert spec.max_episode_steps == env.spec.max_episode_steps
    assert spec.reward_threshold == env.spec.reward_threshold
    assert spec.render_fps == env.metadata["render_fps"]


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_first_states_have_gymnasiums_range(spec):
    env = gym.make(spec.env_id).unwrapped
    states = []
    for seed in range(300):
        env.reset(seed=seed)
        states.append(np.array(env.state, dtype=np.float64))
    states = np.array(states)
    low, high = np.array(spec.initial_low), np.array(spec.initial_high)
    assert (states >= low - 1e-9).all()
    assert (states <= high + 1e-9).all()
    # 300 uniform draws leave less than 5 % of the range at either end, but for one in 5 million.
    assert (states.min(0) <= low + 0.05 * (high - low)).all()
    assert (states.max(0) >= high - 0.05 * (high - low)).all()


def test_rebinding_changes_constants_and_mathematics_of_called_functions_too():
    spec = classic_spec("Pendulum-v1")
    calls = []

    def note(name):
        def function(*arguments):
            calls.append(name)
            return arguments[0]

        return function

    copy = rebind(
        spec.transition,
        math={name: note(name) for name in MATH_NAMES},
        constant=lambda value: value * 0.0 + 1.0,
        compile_helper=lambda function: function,
    )
    # wrap(0.5): (0.5 + 1) / 1 through floor as it is: 0.5 - 1 * 1.5 = -1; cost 1 + 4 + 9.
    *_, reward, _ = copy(0.5, 2.0, 3.0)
    assert reward == -14.0
    assert calls.count("floor") == 2
    assert spec.transition(0.5, 2.0, 3.0)[-2] != -14.0
