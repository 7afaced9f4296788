"""MountainCarContinuous-v0: MountainCar with a force that is paid for."""

from __future__ import annotations

from gym_envs.physics.scalar_math import clip, cos, where

POWER = 0.0015
FORCE_LIMIT = 1.0
GRAVITY = 0.0025
SLOPE_FREQUENCY = 3.0  # the hill is sin(3 x)
SPEED_LIMIT = 0.07
POSITION_LOW = -1.2
POSITION_HIGH = 0.6
GOAL_POSITION = 0.45
GOAL_REWARD = 100.0
FORCE_COST = 0.1
ZERO = 0.0


def transition(position, velocity, action):
    """Advance by one step.

    Args:
        position: Of the car.
        velocity: Of the car, per step.
        action: Force in [-1, 1]; more has no effect, but is paid for.

    Returns:
        The two state variables, the reward, and whether the episode terminated.
    """
    force = clip(action, -FORCE_LIMIT, FORCE_LIMIT)
    velocity = velocity + force * POWER - GRAVITY * cos(SLOPE_FREQUENCY * position)
    velocity = clip(velocity, -SPEED_LIMIT, SPEED_LIMIT)
    position = clip(position + velocity, POSITION_LOW, POSITION_HIGH)
    # The wall on the left takes all speed.
    velocity = where((position <= POSITION_LOW) & (velocity < ZERO), ZERO, velocity)
    terminated = (position >= GOAL_POSITION) & (velocity >= ZERO)
    reward = where(terminated, GOAL_REWARD, ZERO) - FORCE_COST * (action * action)
    return position, velocity, reward, terminated


def observe(position, velocity):
    """Return the observation: the state itself."""
    return position, velocity
