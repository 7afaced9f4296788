"""The CcaS-CcaR circuit: a cell that glows green as light tells it to, simulated exactly."""

from gym_envs.ccas_ccar.env import CcasCcarEnv
from gym_envs.ccas_ccar.task import Kinetics, Task
from gym_envs.ccas_ccar.vector_env import CcasCcarVectorEnv

__all__ = ["CcasCcarEnv", "CcasCcarVectorEnv", "Kinetics", "Task"]
