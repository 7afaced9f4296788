"""The classic environments on the CPU: struct-of-arrays float32, stepped by vector instructions."""

from gym_envs.simd.arrays import SimdArrays
from gym_envs.simd.vector_env import SimdVectorEnv

__all__ = ["SimdArrays", "SimdVectorEnv"]
