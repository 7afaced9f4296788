"""Stepping environments with a policy: rollouts to learn from, episodes to judge by."""

from utils.rollouts.buffer import Minibatch, RolloutBuffer
from utils.rollouts.collector import Collector, RolloutSummary
from utils.rollouts.episode_stats import EpisodeTracker, FinishedEpisodes
from utils.rollouts.evaluation import EpisodeLedger, EvaluationResult, evaluate_policy

__all__ = [
    "Collector",
    "EpisodeLedger",
    "EpisodeTracker",
    "EvaluationResult",
    "FinishedEpisodes",
    "Minibatch",
    "RolloutBuffer",
    "RolloutSummary",
    "evaluate_policy",
]
