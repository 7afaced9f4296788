"""What a world model does not know of the present: stochastic parts of its state."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.world_models.fused_steps import availability
from utils.world_models.layers import widen


class Latent(Protocol):
    """A family of distributions over stochastic states; it holds sizes, never tensors."""

    n_parameters: int
    """Outputs of a network that say which distribution."""
    width: int
    """Width of a state as networks read it."""
    stored_width: int
    """Numbers that a state is kept as; see `pack`."""
    stored_dtype: torch.dtype

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Return the randomness of states of a batch shape, on the generator's device."""

    def sample(self, parameters: Tensor, noise: Tensor | None) -> Tensor:
        """Return states (..., width), the likeliest without noise; gradients flow.

        Args:
            parameters: (..., n_parameters) float32.
            noise: From `draw_noise`, or None.
        """

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Return ``KL(first || second)`` of two distributions' parameters, (...) in nats."""

    def entropy(self, parameters: Tensor) -> Tensor:
        """Return the entropy, (...) in nats."""

    def pack(self, state: Tensor) -> Tensor:
        """Return states as a buffer keeps them, (..., stored_width)."""

    def unpack(self, stored: Tensor) -> Tensor:
        """Undo `pack`, (..., width) float32."""


class CategoricalLatent:
    """S choices among C classes each; a state is S one-hot vectors in a row.

    Hafner et al. 2021, "Mastering Atari with discrete world models", algorithm 1: gradients pass
    the draw straight through to the probabilities. A share of every distribution is uniform, so
    that no divergence is without bound (Hafner et al. 2025, "World model learning").
    """

    stored_dtype = torch.uint8

    def __init__(self, n_choices: int, n_classes: int, *, uniform_share: float) -> None:
        """Say how many.

        Args:
            n_choices: S.
            n_classes: C, at most 256.
            uniform_share: Of the probability, in [0, 1).
        """
        assert 1 < n_classes <= 256, n_classes
        self.n_choices, self.n_classes, self.uniform_share = n_choices, n_classes, uniform_share
        self.n_parameters = self.width = n_choices * n_classes
        self.stored_width = n_choices

    @property
    def _numbers(self) -> dict[str, Any]:
        """What kernels ask for."""
        sizes = {"n_choices": self.n_choices, "n_classes": self.n_classes}
        return {**sizes, "share": self.uniform_share}

    def probabilities(self, parameters: Tensor) -> Tensor:
        """Return the probabilities of all classes, (..., S, C), at least float32."""
        logits = widen(parameters).unflatten(-1, (self.n_choices, self.n_classes))
        probability = _softmax(logits)
        if self.uniform_share == 0.0:
            return probability
        share = self.uniform_share
        return probability * (1.0 - share) + share / self.n_classes

    def _log_probabilities(self, parameters: Tensor) -> Tensor:
        if self.uniform_share > 0.0:
            return self.probabilities(parameters).log()
        logits = widen(parameters).unflatten(-1, (self.n_choices, self.n_classes))
        return logits.log_softmax(dim=-1)  # finite where the probability rounds to 0

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Return standard exponential numbers, (*shape, S, C), as ``-log(u)`` of even ones."""
        size = (*shape, self.n_choices, self.n_classes)
        return torch.rand(size, generator=generator, device=generator.device).log_().neg_()

    def sample(self, parameters: Tensor, noise: Tensor | None) -> Tensor:
        """Return one-hot states (..., S * C); ``argmax(p / noise)`` draws in proportion to p."""
        probability = self.probabilities(parameters)
        key = probability.detach()
        index = (key if noise is None else key / noise).argmax(dim=-1, keepdim=True)
        chosen = torch.zeros_like(key).scatter_(-1, index, 1.0)
        if probability.requires_grad:
            chosen = chosen + (probability - key)
        return chosen.flatten(-2)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the KL divergence summed over all choices, (...)."""
        if self.uniform_share > 0.0 and availability.runs_fused(second, width=self.width):
            from utils.world_models.fused_steps import losses

            return losses.divergence(first, second, **self._numbers)
        difference = self._log_probabilities(first) - self._log_probabilities(second)
        return (self.probabilities(first) * difference).sum(dim=(-2, -1))

    def entropy(self, parameters: Tensor) -> Tensor:
        """Return the entropy summed over all choices, (...)."""
        has_gradient = torch.is_grad_enabled() and parameters.requires_grad
        if not has_gradient and availability.runs_fused(parameters, width=self.width):
            from utils.world_models.fused_steps import losses

            return losses.entropy(parameters, **self._numbers)
        p, logprob = self.probabilities(parameters), self._log_probabilities(parameters)
        return -(p * logprob).sum(dim=(-2, -1))

    def pack(self, state: Tensor) -> Tensor:
        """Return the numbers of the classes, (..., S) uint8; a state of zeros is class 0."""
        classes = state.unflatten(-1, (self.n_choices, self.n_classes))
        return classes.argmax(dim=-1).to(torch.uint8)

    def unpack(self, stored: Tensor) -> Tensor:
        """Return one-hot states (..., S * C) float32."""
        return F.one_hot(stored.long(), self.n_classes).float().flatten(-2)


def _softmax(logits: Tensor) -> Tensor:
    """Return the softmax over the last dimension.

    On the CPU torch's own takes six times as long as its steps where there are few classes; with
    gradients it is one operation rather than five.
    """
    if logits.requires_grad or logits.device.type != "cpu":
        return logits.softmax(dim=-1)
    weight = (logits - logits.amax(dim=-1, keepdim=True)).exp_()
    return weight.div_(weight.sum(dim=-1, keepdim=True))


class GaussianLatent:
    """A normal distribution with independent dimensions; parameters are (mean, raw deviation).

    Hafner et al. 2019, "Learning latent dynamics for planning from pixels", appendix A:
    ``std = softplus(raw) + min_std``.
    """

    stored_dtype = torch.float32

    def __init__(self, width: int, *, min_std: float) -> None:
        """Say how wide a state is, and how small a deviation may get."""
        self.width = self.stored_width = width
        self.n_parameters = 2 * width
        self._min_std = min_std

    def _mean_and_std(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        mean, raw = widen(parameters).chunk(2, dim=-1)
        return mean, F.softplus(raw) + self._min_std

    def draw_noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Return standard normal numbers, (*shape, width)."""
        return torch.randn((*shape, self.width), generator=generator, device=generator.device)

    def sample(self, parameters: Tensor, noise: Tensor | None) -> Tensor:
        """Return ``mean + std * noise``, (..., width)."""
        mean, std = self._mean_and_std(parameters)
        return mean if noise is None else torch.addcmul(mean, std, noise)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Return ``sum(log(s2 / s1) + (s1^2 + (m1 - m2)^2) / (2 s2^2) - 1/2)``, (...)."""
        (mean, std), (other_mean, other_std) = map(self._mean_and_std, (first, second))
        ratio, shift = std / other_std, (mean - other_mean) / other_std
        return (0.5 * (ratio.square() + shift.square() - 1.0) - ratio.log()).sum(dim=-1)

    def entropy(self, parameters: Tensor) -> Tensor:
        """Return ``sum(log std) + width / 2 * log(2 pi e)``, (...)."""
        _, std = self._mean_and_std(parameters)
        return (std.log() + 1.4189385332046727).sum(dim=-1)

    def pack(self, state: Tensor) -> Tensor:
        """Return the state as it is."""
        return state

    def unpack(self, stored: Tensor) -> Tensor:
        """Return the state as it is, float32."""
        return stored.float()
