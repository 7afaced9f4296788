"""The DeepMind Control Suite as Gymnasium environments."""

from gym_envs.dm_control.registration import register_suite

__all__ = ["register_suite"]
