"""Acrobot-v1: swing a two-link chain above a line (Sutton 1996; equations of Sutton and Barto)."""

from __future__ import annotations

from gym_envs.physics.scalar_math import clip, cos, floor, sin, where

# Both links have mass 1 kg, length 1 m, centre of mass at 0.5 m, moment of inertia 1 kg m^2.
CENTRE = 0.5
CENTRE_SQUARED = 0.25
INERTIA = 1.0
ONE = 1.0
TWO = 2.0
ZERO = 0.0
GRAVITY = 9.8
TIME_STEP = 0.2  # s
HALF_STEP = 0.1
SIXTH_STEP = 0.2 / 6.0
PI = 3.141592653589793
TWO_PI = 2.0 * 3.141592653589793
SPEED_LIMIT_1 = 4.0 * 3.141592653589793
SPEED_LIMIT_2 = 9.0 * 3.141592653589793
REWARD = -1.0


def accelerations(theta1, theta2, speed1, speed2, torque):
    """Return the angular accelerations of both joints, rad/s^2, as in Sutton and Barto's book."""
    cosine2 = cos(theta2)
    sine2 = sin(theta2)
    d1 = CENTRE_SQUARED + (ONE + CENTRE_SQUARED + cosine2) + INERTIA + INERTIA
    d2 = CENTRE_SQUARED + CENTRE * cosine2 + INERTIA
    # cos(a - pi/2) = sin(a)
    phi2 = CENTRE * GRAVITY * sin(theta1 + theta2)
    phi1 = (
        -CENTRE * (speed2 * speed2) * sine2
        - speed2 * speed1 * sine2
        + (CENTRE + ONE) * GRAVITY * sin(theta1)
        + phi2
    )
    acceleration2 = (torque + d2 / d1 * phi1 - CENTRE * (speed1 * speed1) * sine2 - phi2) / (
        CENTRE_SQUARED + INERTIA - d2 * d2 / d1
    )
    acceleration1 = -(d2 * acceleration2 + phi1) / d1
    return acceleration1, acceleration2


def wrap(angle):
    """Return the same direction as an angle in [-pi, pi)."""
    return angle - TWO_PI * floor((angle + PI) / TWO_PI)


def transition(theta1, theta2, speed1, speed2, action):
    """Advance by one step of the fourth-order Runge-Kutta method.

    Args:
        theta1: Angle of the first link from hanging down, rad in [-pi, pi].
        theta2: Angle of the second link from the first, rad in [-pi, pi].
        speed1: Velocity of theta1, rad/s.
        speed2: Velocity of theta2, rad/s.
        action: 0, 1, 2 for a torque of -1, 0, 1 N m on the joint between the links.

    Returns:
        The four state variables, the reward, and whether the episode terminated.
    """
    torque = action - ONE
    a1, a2 = accelerations(theta1, theta2, speed1, speed2, torque)
    s1b = speed1 + HALF_STEP * a1
    s2b = speed2 + HALF_STEP * a2
    b1, b2 = accelerations(
        theta1 + HALF_STEP * speed1, theta2 + HALF_STEP * speed2, s1b, s2b, torque
    )
    s1c = speed1 + HALF_STEP * b1
    s2c = speed2 + HALF_STEP * b2
    c1, c2 = accelerations(theta1 + HALF_STEP * s1b, theta2 + HALF_STEP * s2b, s1c, s2c, torque)
    s1d = speed1 + TIME_STEP * c1
    s2d = speed2 + TIME_STEP * c2
    d1, d2 = accelerations(theta1 + TIME_STEP * s1c, theta2 + TIME_STEP * s2c, s1d, s2d, torque)
    theta1 = theta1 + SIXTH_STEP * (speed1 + TWO * s1b + TWO * s1c + s1d)
    theta2 = theta2 + SIXTH_STEP * (speed2 + TWO * s2b + TWO * s2c + s2d)
    speed1 = speed1 + SIXTH_STEP * (a1 + TWO * b1 + TWO * c1 + d1)
    speed2 = speed2 + SIXTH_STEP * (a2 + TWO * b2 + TWO * c2 + d2)
    theta1 = wrap(theta1)
    theta2 = wrap(theta2)
    speed1 = clip(speed1, -SPEED_LIMIT_1, SPEED_LIMIT_1)
    speed2 = clip(speed2, -SPEED_LIMIT_2, SPEED_LIMIT_2)
    terminated = -cos(theta1) - cos(theta2 + theta1) > ONE
    reward = where(terminated, ZERO, REWARD)
    return theta1, theta2, speed1, speed2, reward, terminated


def observe(theta1, theta2, speed1, speed2):
    """Return the observation: cosine and sine of both angles, and both velocities."""
    return cos(theta1), sin(theta1), cos(theta2), sin(theta2), speed1, speed2
