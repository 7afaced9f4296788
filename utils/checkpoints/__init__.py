"""Saves and loads the state of a run as files that are whole, safe to load and found by name."""

from utils.checkpoints.load import is_whole_checkpoint, load_acting_state, load_checkpoint
from utils.checkpoints.pointers import point, resolve
from utils.checkpoints.rewind import read_description, rewind
from utils.checkpoints.save import save_checkpoint
from utils.checkpoints.weights import weights_content

__all__ = [
    "is_whole_checkpoint",
    "load_acting_state",
    "load_checkpoint",
    "point",
    "read_description",
    "resolve",
    "rewind",
    "save_checkpoint",
    "weights_content",
]
