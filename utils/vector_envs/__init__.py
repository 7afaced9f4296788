"""Many environments behind one call: in this process or in worker processes, arrays in and out."""

from utils.vector_envs.base_vector_env import BaseVectorEnv
from utils.vector_envs.debugger import is_debugger_attached
from utils.vector_envs.in_process import InProcessVectorEnv
from utils.vector_envs.observation_steps import ObservationOptions
from utils.vector_envs.subprocess_env import SubprocessVectorEnv

__all__ = [
    "BaseVectorEnv",
    "InProcessVectorEnv",
    "ObservationOptions",
    "SubprocessVectorEnv",
    "is_debugger_attached",
]
