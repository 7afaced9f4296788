"""Pendulum-v1: swing a pendulum up and hold it there with little torque."""

from __future__ import annotations

from gym_envs.physics.scalar_math import clip, cos, floor, sin

TIME_STEP = 0.05  # s
SPEED_LIMIT = 8.0  # rad/s
TORQUE_LIMIT = 2.0  # N m
GRAVITY_TERM = 15.0  # 3 g / (2 l), g = 10 m/s^2, l = 1 m
TORQUE_TERM = 3.0  # 3 / (m l^2), m = 1 kg
PI = 3.141592653589793
TWO_PI = 2.0 * 3.141592653589793
SPEED_COST = 0.1
TORQUE_COST = 0.001


def wrap(angle):
    """Return the same direction as an angle in [-pi, pi)."""
    return angle - TWO_PI * floor((angle + PI) / TWO_PI)


def transition(theta, theta_dot, action):
    """Advance by one step of semi-implicit Euler.

    Args:
        theta: Angle from upright, rad.
        theta_dot: Its velocity, rad/s.
        action: Torque, N m; clipped to [-2, 2].

    Returns:
        The two state variables (the angle in [-pi, pi), which Gymnasium lets grow: nothing that
        is observed or paid depends on full turns), the reward, and whether the episode terminated
        (never).
    """
    torque = clip(action, -TORQUE_LIMIT, TORQUE_LIMIT)
    angle = wrap(theta)
    cost = angle * angle + SPEED_COST * (theta_dot * theta_dot) + TORQUE_COST * (torque * torque)
    theta_dot = theta_dot + (GRAVITY_TERM * sin(theta) + TORQUE_TERM * torque) * TIME_STEP
    theta_dot = clip(theta_dot, -SPEED_LIMIT, SPEED_LIMIT)
    theta = wrap(theta + theta_dot * TIME_STEP)
    return theta, theta_dot, -cost, theta > TWO_PI


def observe(theta, theta_dot):
    """Return the observation: cosine and sine of the angle, and its velocity."""
    return cos(theta), sin(theta), theta_dot
