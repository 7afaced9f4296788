"""Mixtures of normal distributions over a vector, per dimension or joint."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LEAST_LOG_STD = -7.0
"""Below it a density grows without bound; reached by numbers that never change."""


class Components(NamedTuple):
    """What a network says of a mixture of K normal distributions over D numbers."""

    log_weight: Tensor
    """(..., K, D) of each number's own mixture, or (..., K, 1) of the one for all of them."""
    mean: Tensor
    """(..., K, D)"""
    log_std: Tensor
    """(..., K, D)"""


class NormalMixture:
    """K normal distributions, each with a diagonal covariance; it holds sizes, never tensors.

    Ha and Schmidhuber 2018, "World models", appendix A.2, in two readings: every number has a
    mixture of its own, as in the authors' program, or one mixture chooses for all numbers at once,
    which alone can say that two of them go together.

    Attributes:
        width: Numbers of a value (D).
        n_parameters: Outputs of a network that say which distribution.
        noise_width: Numbers that a draw takes.
    """

    def __init__(self, width: int, n_components: int, *, is_joint: bool) -> None:
        """Say how many numbers and components (K), and whether one choice is for all numbers."""
        self.width, self.n_components, self.is_joint = width, n_components, is_joint
        self._n_choices = 1 if is_joint else width
        self.n_parameters = n_components * (self._n_choices + 2 * width)
        self.noise_width = width + self._n_choices

    def split(self, parameters: Tensor) -> Components:
        """Return parameters (..., n_parameters) as components."""
        k, n = self.n_components, self.width
        first = k * self._n_choices
        logits, mean = parameters[..., :first], parameters[..., first : first + k * n]
        log_std = parameters[..., first + k * n :]
        leading = parameters.shape[:-1]
        return Components(
            logits.reshape(*leading, k, self._n_choices).log_softmax(dim=-2),
            mean.reshape(*leading, k, n),
            log_std.reshape(*leading, k, n).clamp_min(_LEAST_LOG_STD),
        )

    def log_prob(self, parameters: Tensor, value: Tensor) -> Tensor:
        """Return the log-density of values (..., D), (...).

        ``sum_d log sum_k w_kd N(z_d; m_kd, s_kd)``, or joint
        ``log sum_k w_k prod_d N(z_d; m_kd, s_kd)``.
        """
        log_weight, mean, log_std = self.split(parameters)
        scaled = (value.unsqueeze(-2) - mean) * (-log_std).exp()
        log_normal = -0.5 * scaled.square() - log_std - _HALF_LOG_TWO_PI
        return self._mix(log_weight, log_normal)

    def divergence_from_normal(self, mean: Tensor, log_var: Tensor, parameters: Tensor) -> Tensor:
        """Return how far normal distributions (..., D) are from mixtures, (...) in nats.

        The Kullback-Leibler divergence has no closed form here; this is the least upper bound of
        Hershey and Olsen 2007, "Approximating the Kullback Leibler divergence between Gaussian
        mixture models", section 8: ``-log sum_k w_k exp(-KL(q || p_k))``, exact for one component.
        """
        log_weight, means, log_std = self.split(parameters)
        difference = mean.unsqueeze(-2) - means
        log_ratio = log_var.unsqueeze(-2) - 2.0 * log_std
        squared = difference.square() * (-2.0 * log_std).exp()
        divergence = 0.5 * (log_ratio.exp() + squared - 1.0 - log_ratio)
        return -self._mix(log_weight, -divergence)

    def _mix(self, log_weight: Tensor, term: Tensor) -> Tensor:
        """Return the logarithm of weighted sums of exp(term) (..., K, D), over all numbers."""
        if self.is_joint:
            term = term.sum(dim=-1, keepdim=True)
        return (log_weight + term).logsumexp(dim=-2).sum(dim=-1)

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Return the randomness of values of a batch shape: D normal numbers, then even ones."""
        device = generator.device
        normal = torch.randn((*shape, self.width), generator=generator, device=device)
        even = torch.rand((*shape, self._n_choices), generator=generator, device=device)
        return torch.cat([normal, even], dim=-1)

    def sample(self, parameters: Tensor, noise: Tensor, *, temperature: float = 1.0) -> Tensor:
        """Return drawn values (..., D).

        Args:
            parameters: (..., n_parameters)
            noise: (..., noise_width) from `draw_noise`.
            temperature: > 0; the logits of the choice are divided by it and the variances
                multiplied, section 4.3 of the paper. 1 draws from the distribution.
        """
        log_weight, mean, log_std = self.split(parameters)
        normal, even = noise[..., : self.width], noise[..., self.width :]
        share = (log_weight / temperature).softmax(dim=-2).cumsum(dim=-2)
        chosen = (share < even.unsqueeze(-2)).sum(dim=-2).clamp_max(self.n_components - 1)
        std = log_std.exp() * math.sqrt(temperature)
        return self._pick(mean, chosen) + self._pick(std, chosen) * normal

    def likeliest(self, parameters: Tensor) -> Tensor:
        """Return the means of the components with the largest weights, (..., D)."""
        log_weight, mean, _ = self.split(parameters)
        return self._pick(mean, log_weight.argmax(dim=-2))

    def _pick(self, of_components: Tensor, chosen: Tensor) -> Tensor:
        """Return what belongs to the chosen components (..., D or 1), (..., D)."""
        index = chosen.unsqueeze(-2).expand(*chosen.shape[:-1], 1, self.width)
        return of_components.gather(-2, index).squeeze(-2)
