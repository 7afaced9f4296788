"""CartPole-v1: keep a pole upright on a cart (Barto, Sutton and Anderson 1983)."""

from __future__ import annotations

from gym_envs.physics.scalar_math import cos, sin, where

GRAVITY = 9.8  # m/s^2
POLE_MASS = 0.1  # kg
TOTAL_MASS = 1.1  # kg
HALF_LENGTH = 0.5  # m, from the hinge to the pole's centre of mass
POLE_MASS_LENGTH = 0.05  # kg m
FOUR_THIRDS = 4.0 / 3.0
FORCE = 10.0  # N
TIME_STEP = 0.02  # s
POSITION_LIMIT = 2.4  # m
ANGLE_LIMIT = 12.0 * 2.0 * 3.141592653589793 / 360.0  # rad
REWARD = 1.0


def transition(x, x_dot, theta, theta_dot, action):
    """Advance by one step of Euler's method.

    Args:
        x: Position of the cart, m.
        x_dot: Its velocity, m/s.
        theta: Angle of the pole from the vertical, rad.
        theta_dot: Its velocity, rad/s.
        action: 0 pushes to the left, 1 to the right.

    Returns:
        The four state variables, the reward, and whether the episode terminated.
    """
    force = where(action > 0, FORCE, -FORCE)
    sine = sin(theta)
    cosine = cos(theta)
    push = (force + POLE_MASS_LENGTH * (theta_dot * theta_dot) * sine) / TOTAL_MASS
    theta_acceleration = (GRAVITY * sine - cosine * push) / (
        HALF_LENGTH * (FOUR_THIRDS - POLE_MASS * (cosine * cosine) / TOTAL_MASS)
    )
    x_acceleration = push - POLE_MASS_LENGTH * theta_acceleration * cosine / TOTAL_MASS
    x = x + TIME_STEP * x_dot
    x_dot = x_dot + TIME_STEP * x_acceleration
    theta = theta + TIME_STEP * theta_dot
    theta_dot = theta_dot + TIME_STEP * theta_acceleration
    terminated = (
        (x < -POSITION_LIMIT)
        | (x > POSITION_LIMIT)
        | (theta < -ANGLE_LIMIT)
        | (theta > ANGLE_LIMIT)
    )
    return x, x_dot, theta, theta_dot, REWARD, terminated


def observe(x, x_dot, theta, theta_dot):
    """Return the observation: the state itself."""
    return x, x_dot, theta, theta_dot
