"""Tunes the settings of a config: search spaces for each algorithm, worked off as a sweep."""

from utils.tuning.space import find_space, fit_to_config, known_spaces
from utils.tuning.spec import TuningBudget, build_tuning

__all__ = ["TuningBudget", "build_tuning", "find_space", "fit_to_config", "known_spaces"]
