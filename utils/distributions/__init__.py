"""Action distributions: parameters in; samples, log-probabilities and entropies out."""

from utils.distributions.bernoulli import Bernoulli
from utils.distributions.categorical import Categorical
from utils.distributions.diagonal_normal import DiagonalNormal
from utils.distributions.masking import mask_parameters
from utils.distributions.multi_categorical import MultiCategorical
from utils.distributions.protocol import ActionDistribution, Parameters
from utils.distributions.rows import sample_rows

__all__ = [
    "ActionDistribution",
    "Bernoulli",
    "Categorical",
    "DiagonalNormal",
    "MultiCategorical",
    "Parameters",
    "mask_parameters",
    "sample_rows",
]
