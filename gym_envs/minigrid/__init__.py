"""What an agent sees of MiniGrid and BabyAI."""

from gym_envs.minigrid.view import MiniGridView

__all__ = ["MiniGridView"]
