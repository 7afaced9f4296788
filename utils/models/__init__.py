"""Networks without algorithms: encoders, trunks, heads and their initialisation."""

from utils.models.cnn import NatureCNN
from utils.models.encoder import ObservationEncoder
from utils.models.heads import NormalHead, linear_head
from utils.models.initialization import orthogonal_
from utils.models.mlp import ACTIVATIONS, SharedTrunk, TwinTrunks, build_mlp
from utils.models.twin_network import (
    has_analytic_backward,
    twin_backward,
    twin_forward,
    twin_network,
)

__all__ = [
    "ACTIVATIONS",
    "NatureCNN",
    "NormalHead",
    "ObservationEncoder",
    "SharedTrunk",
    "TwinTrunks",
    "build_mlp",
    "has_analytic_backward",
    "linear_head",
    "orthogonal_",
    "twin_backward",
    "twin_forward",
    "twin_network",
]
