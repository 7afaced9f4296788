from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.mountain_car_energy.wrapper import MountainCarEnergy
from gym_wrappers.scale_observation.wrapper import ScaleObservation
from utils.errors import ConfigError


class Scripted(gym.Env):
    """Shows three given states; terminates at the last one if told to."""

    states = ((-0.5, 0.0), (-0.4, 0.02), (0.5, 0.03))
    observation_space = gym.spaces.Box(-2, 2, (2,))
    action_space = gym.spaces.Discrete(3)

    def __init__(self, *, terminates: bool) -> None:
        self.terminates = terminates

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.array(self.states[0]), {}

    def step(self, action):
        self.t += 1
        is_end = self.t == 2
        terminated = is_end and self.terminates
        return np.array(self.states[self.t]), -1.0, terminated, is_end and not terminated, {}


def potential(x: float, v: float, scale: float = 100.0) -> float:
    return scale * (v * v / 2 + 0.0025 / 3 * math.sin(3 * x))


@pytest.mark.parametrize("terminates", [True, False])
def test_reward_gains_the_discounted_change_of_energy(terminates: bool) -> None:
    env = MountainCarEnergy(Scripted(terminates=terminates), gamma=0.9, scale=100.0)
    env.reset()
    phi = [potential(*state) for state in Scripted.states]
    assert env.step(0)[1] == pytest.approx(-1.0 + 0.9 * phi[1] - phi[0], rel=1e-9)
    last = 0.0 if terminates else phi[2]
    assert env.step(0)[1] == pytest.approx(-1.0 + 0.9 * last - phi[1], rel=1e-9)
    assert env.raw_reward == -1.0


def test_a_terminated_episode_sums_to_the_true_return_less_the_first_potential() -> None:
    # Discounted sums of gamma phi' - phi telescope to -phi(first): no policy gains by shaping.
    env = MountainCarEnergy(Scripted(terminates=True), gamma=0.9, scale=100.0)
    env.reset()
    shaped = env.step(0)[1] + 0.9 * env.step(0)[1]
    assert shaped == pytest.approx(-1.0 - 0.9 - potential(*Scripted.states[0]), rel=1e-9)


def test_energy_is_what_the_physics_of_the_car_conserves() -> None:
    env = gym.make("MountainCar-v0")
    wrapped = MountainCarEnergy(env, gamma=1.0, scale=1.0)
    wrapped.reset(seed=0)
    # Without an engine (action 1) energy changes only by the size of the time step.
    drift = [abs(wrapped.step(1)[1] + 1.0) for _ in range(100)]
    pushes = [abs(wrapped.step(2)[1] + 1.0) for _ in range(50)]
    assert max(drift) < 0.25 * max(pushes)


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "MountainCarContinuous-v0"])
def test_scaled_numbers_are_no_place_and_speed(env_id: str) -> None:
    with pytest.raises(ConfigError, match="put MountainCarEnergy before ScaleObservation"):
        MountainCarEnergy(ScaleObservation(gym.make(env_id)), gamma=0.9)
    assert ScaleObservation(MountainCarEnergy(gym.make(env_id), gamma=0.9)).reset(seed=0)


def test_another_environment_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a MountainCar environment, not Pendulum-v1"):
        MountainCarEnergy(gym.make("Pendulum-v1"), gamma=0.9)
