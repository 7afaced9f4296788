"""How a network puts out a number: as a distribution over bins of its logarithm, or plainly."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.distributions.symlog import symexp, symlog
from utils.distributions.two_hot import two_hot_loss

N_BINS = 101
_LIMIT = 10.0


class BinnedNumber(nn.Module):
    """A distribution over 101 evenly spaced symmetric logarithms from -10 to 10.

    Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", appendix;
    unlike `two_hot_mean` of `exponential_bins` the mean is taken of the logarithms.
    """

    n_outputs = N_BINS
    bins: Tensor

    def __init__(self) -> None:
        """Lay out the bins."""
        super().__init__()
        bins = torch.linspace(-_LIMIT, _LIMIT, N_BINS)
        self.register_buffer("bins", bins, persistent=False)

    def mean(self, output: Tensor) -> Tensor:
        """Return the number that outputs (..., 101) stand for, (...) float32."""
        return symexp(output.float().softmax(dim=-1) @ self.bins)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy with numbers (...), (...); their logarithm has two bins."""
        return two_hot_loss(output, symlog(target.detach()), self.bins)


class PlainNumber(nn.Module):
    """The number itself."""

    n_outputs = 1

    def mean(self, output: Tensor) -> Tensor:
        """Return the number that outputs (..., 1) stand for, (...) float32."""
        return output.float().squeeze(-1)

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the squared distance from numbers (...), (...)."""
        return (self.mean(output) - target.detach()).square()


NumberCode = BinnedNumber | PlainNumber


def build_number_code(kind: str) -> NumberCode:
    """Build "two_hot" or "plain"."""
    return BinnedNumber() if kind == "two_hot" else PlainNumber()
