"""Environments of Brax, whose physics JAX compiles, one at a time for Gymnasium.

``gymnasium.make("gym_envs.brax:brax/ant")`` imports this package, which makes the ids known.
"""

from gym_envs.brax.registration import register

register()
