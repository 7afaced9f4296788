"""A value head whose targets are normalised while its outputs keep their meaning (PopArt)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.models import linear_head

SMALLEST_SCALE = 1e-4
"""Lower bound of the standard deviation, as in Hessel et al. 2018, section 3.2."""


class PopArtHead(nn.Module):
    """``V = scale * (W h + b) + shift``: a linear layer learns values of mean 0 and deviation 1.

    `shift` and `scale` follow mean and standard deviation of the returns ("adaptively rescaling
    targets"); whenever they move, `W` and `b` are corrected so that every V stays what it was
    ("preserving outputs precisely"). van Hasselt et al. 2016, "Learning values across many orders
    of magnitude", equations 1 to 5 and proposition 1; Hessel et al. 2018, "Multi-task Deep
    Reinforcement Learning with PopArt", section 3.

    Differs: the moments take one step a rollout, towards the moments of all its returns, and are
    divided by the weight that they have taken in (as Adam divides), so the first rollout counts in
    full. That first time the layer is left alone: its outputs mean nothing yet, and kept as they
    are they would be thousands of deviations away where returns are tiny or huge.

    All numbers that it needs are buffers, so they travel with the weights.
    """

    shift: Tensor
    scale: Tensor
    first_moment: Tensor
    second_moment: Tensor
    weight_seen: Tensor

    def __init__(self, input_dim: int, *, gain: float | None) -> None:
        """Build the head; before the first update it is the linear layer alone.

        Args:
            input_dim: Width of the features.
            gain: Gain of orthogonal weights, None for torch's own.
        """
        super().__init__()
        self.linear = linear_head(input_dim, 1, gain=gain)
        self.register_buffer("shift", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))
        for name in ("first_moment", "second_moment", "weight_seen"):
            self.register_buffer(name, torch.zeros((), dtype=torch.float64))

    def forward(self, features: Tensor) -> Tensor:
        """Map (B, input_dim) to V in units of the returns, (B, 1)."""
        return torch.addcmul(self.shift, self.linear(features), self.scale)

    @torch.no_grad()
    def update(self, returns: Tensor, *, beta: float) -> None:
        """Take in the returns of a rollout and correct the layer: no output changes but at first.

        ``m1 = (1 - beta) m1 + beta mean(G)``, ``m2 = (1 - beta) m2 + beta mean(G^2)``,
        ``shift' = m1``, ``scale' = sqrt(m2 - m1^2)`` (van Hasselt et al., equations 2 and 3), then
        ``W' = W scale / scale'`` and ``b' = (scale b + shift - shift') / scale'`` (proposition 1).

        Args:
            returns: Targets of the critic, any shape, at least one.
            beta: Weight of this rollout in the moments, in (0, 1].
        """
        is_first = not bool(self.weight_seen)
        samples = returns.to(device=self.first_moment.device, dtype=torch.float64)
        self.first_moment.lerp_(samples.mean(), beta)
        self.second_moment.lerp_(samples.square().mean(), beta)
        self.weight_seen.lerp_(torch.ones_like(self.weight_seen), beta)
        mean = self.first_moment / self.weight_seen
        variance = self.second_moment / self.weight_seen - mean.square()
        shift, scale = self.shift.double(), self.scale.double()
        self.shift.copy_(mean)
        self.scale.copy_(variance.clamp_min(SMALLEST_SCALE**2).sqrt())
        if not is_first:
            self._correct(shift, scale)

    def _correct(self, shift: Tensor, scale: Tensor) -> None:
        """Change weight and bias so that outputs are those under the former shift and scale."""
        new_shift, new_scale = self.shift.double(), self.scale.double()  # as rounded to float32
        weight, bias = self.linear.weight, self.linear.bias
        weight.copy_(weight.double() * (scale / new_scale))
        bias.copy_((scale * bias.double() + shift - new_shift) / new_scale)
