"""Networks without algorithms: encoders, trunks, heads and their initialisation."""

from utils.models.cnn import NatureCNN
from utils.models.encoder import ObservationEncoder
from utils.models.heads import NormalHead, linear_head
from utils.models.initialization import orthogonal_
from utils.models.mlp import ACTIVATIONS, build_mlp

__all__ = [
    "ACTIVATIONS",
    "NatureCNN",
    "NormalHead",
    "ObservationEncoder",
    "build_mlp",
    "linear_head",
    "orthogonal_",
]
