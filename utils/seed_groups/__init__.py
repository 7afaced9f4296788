"""One config over several seeds: trained side by side, resumed together, told as one result."""

from utils.seed_groups.session import run_seeds

__all__ = ["run_seeds"]
