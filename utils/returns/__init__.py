"""Advantages and returns as pure functions of tensors, time on dimension 0."""

from utils.returns.explained_variance import explained_variance
from utils.returns.gae import generalized_advantage
from utils.returns.monte_carlo import episode_return, reward_to_go
from utils.returns.standardize import standardize

__all__ = [
    "generalized_advantage",
    "reward_to_go",
    "episode_return",
    "explained_variance",
    "standardize",
]
