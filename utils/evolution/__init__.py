"""Search without gradients: a population of controllers that are stepped side by side."""

from utils.evolution.cma_es import CmaEs, require_cma
from utils.evolution.linear_rows import LinearShape, control_rows
from utils.evolution.population_play import PopulationPlay, play_population

__all__ = [
    "CmaEs",
    "LinearShape",
    "PopulationPlay",
    "control_rows",
    "play_population",
    "require_cma",
]
