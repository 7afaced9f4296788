"""Normalisers whose `update` and `apply` are separate calls, saved with the weights."""

from utils.normalization.min_max import (
    MinMaxScale,
    build_min_max_normalizer,
    fit_min_max_,
)
from utils.normalization.observation import (
    ObservationNormalizer,
    build_observation_normalizer,
)
from utils.normalization.popart import PopArtHead
from utils.normalization.reward import RewardNormalizer
from utils.normalization.running_moments import RunningMoments

__all__ = [
    "MinMaxScale",
    "ObservationNormalizer",
    "PopArtHead",
    "RewardNormalizer",
    "RunningMoments",
    "build_min_max_normalizer",
    "build_observation_normalizer",
    "fit_min_max_",
]
