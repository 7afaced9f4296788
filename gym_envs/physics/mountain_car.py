"""MountainCar-v0: swing an underpowered car up a hill (Moore 1990)."""

from __future__ import annotations

from gym_envs.physics.scalar_math import clip, cos, where

FORCE = 0.001
GRAVITY = 0.0025
SLOPE_FREQUENCY = 3.0  # the hill is sin(3 x)
SPEED_LIMIT = 0.07
POSITION_LOW = -1.2
POSITION_HIGH = 0.6
GOAL_POSITION = 0.5
ZERO = 0.0
ONE = 1.0
REWARD = -1.0


def transition(position, velocity, action):
    """Advance by one step.

    Args:
        position: Of the car.
        velocity: Of the car, per step.
        action: 0 accelerates to the left, 1 not at all, 2 to the right.

    Returns:
        The two state variables, the reward, and whether the episode terminated.
    """
    velocity = velocity + (action - ONE) * FORCE - cos(SLOPE_FREQUENCY * position) * GRAVITY
    velocity = clip(velocity, -SPEED_LIMIT, SPEED_LIMIT)
    position = clip(position + velocity, POSITION_LOW, POSITION_HIGH)
    # The wall on the left takes all speed.
    velocity = where((position <= POSITION_LOW) & (velocity < ZERO), ZERO, velocity)
    terminated = (position >= GOAL_POSITION) & (velocity >= ZERO)
    return position, velocity, REWARD, terminated


def observe(position, velocity):
    """Return the observation: the state itself."""
    return position, velocity
