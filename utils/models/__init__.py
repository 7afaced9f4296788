"""Networks without algorithms: encoders, trunks, heads and their initialisation."""

from utils.models.cnn import NatureCNN
from utils.models.encoder import ObservationEncoder
from utils.models.heads import NormalHead, linear_head
from utils.models.initialization import orthogonal_, orthogonal_blocks_
from utils.models.mlp import ACTIVATIONS, SharedTrunk, TwinTrunks, build_mlp
from utils.models.recurrent import Memory
from utils.models.twin_network import (
    has_analytic_backward,
    twin_backward,
    twin_forward,
    twin_network,
)

__all__ = [
    "ACTIVATIONS",
    "Memory",
    "NatureCNN",
    "NormalHead",
    "ObservationEncoder",
    "SharedTrunk",
    "TwinTrunks",
    "build_mlp",
    "has_analytic_backward",
    "linear_head",
    "orthogonal_",
    "orthogonal_blocks_",
    "twin_backward",
    "twin_forward",
    "twin_network",
]
