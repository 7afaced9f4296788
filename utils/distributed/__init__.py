"""Several processes that train one agent: who they are, what they share, and how they end."""

from utils.distributed.part import Part
from utils.distributed.ranks import Ranks, read_ranks
from utils.distributed.share import Share

__all__ = ["Part", "Ranks", "Share", "read_ranks"]
