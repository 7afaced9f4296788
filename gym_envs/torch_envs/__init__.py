"""The classic environments as tensor code: all environments at once, on any device of torch."""

from gym_envs.torch_envs.vector_env import TensorStep, TorchVectorEnv

__all__ = ["TensorStep", "TorchVectorEnv"]
