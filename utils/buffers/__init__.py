"""Experience that is learned from more than once: transitions and sequences, in place, by index."""

from utils.buffers.place import Place
from utils.buffers.priorities import Priorities
from utils.buffers.sequence_batch import SequenceBatch
from utils.buffers.sequence_buffer import SequenceBuffer
from utils.buffers.sequence_layout import SequenceLayout, StateField
from utils.buffers.transition_batch import TransitionBatch
from utils.buffers.transition_buffer import TransitionBuffer
from utils.buffers.transition_layout import TransitionLayout

__all__ = [
    "Place",
    "Priorities",
    "SequenceBatch",
    "SequenceBuffer",
    "SequenceLayout",
    "StateField",
    "TransitionBatch",
    "TransitionBuffer",
    "TransitionLayout",
]
