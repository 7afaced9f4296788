"""Games of the Atari 2600 in the Arcade Learning Environment, with the usual preprocessing."""

from gym_envs.atari.env import AtariEnv
from gym_envs.atari.registration import register_games

__all__ = ["AtariEnv", "register_games"]
