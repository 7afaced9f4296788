"""A U-Net over time: sequences of actions, conditioned on what was seen and on the noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from utils.diffusion.step_code import StepCode


def _convolution(n_in: int, n_out: int, *, kernel_size: int, n_groups: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(n_in, n_out, kernel_size, padding=kernel_size // 2),
        nn.GroupNorm(n_groups, n_out),
        nn.Mish(),
    )


class _Residual(nn.Module):
    """Two convolutions; between them every channel is scaled and shifted by the condition.

    Perez et al. 2018, "FiLM: Visual reasoning with a general conditioning layer".
    """

    def __init__(
        self, n_in: int, n_out: int, *, condition_dim: int, kernel_size: int, n_groups: int
    ) -> None:
        super().__init__()
        self.first = _convolution(n_in, n_out, kernel_size=kernel_size, n_groups=n_groups)
        self.second = _convolution(n_out, n_out, kernel_size=kernel_size, n_groups=n_groups)
        self.modulation = nn.Sequential(nn.Mish(), nn.Linear(condition_dim, 2 * n_out))
        self.skip = nn.Conv1d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, sequence: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.modulation(condition).unsqueeze(-1).chunk(2, dim=1)
        return self.second(self.first(sequence) * scale + shift) + self.skip(sequence)


class ConditionalUnet1d(nn.Module):
    """Chi et al. 2023, "Diffusion Policy: Visuomotor policy learning via action diffusion", 3.1.

    Each level halves the sequence; on the way back what the way down knew at that length is read
    again. Norms are over groups of channels, never over the batch.
    """

    def __init__(
        self,
        action_dim: int,
        *,
        features_dim: int,
        channels: Sequence[int],
        kernel_size: int,
        n_groups: int,
        step_dim: int,
    ) -> None:
        """Build the layers.

        Args:
            action_dim: Numbers of an action A.
            features_dim: Width of all that is known of the observations.
            channels: Of each level; a sequence is 2^(levels - 1) long or a multiple.
            kernel_size: Odd.
            n_groups: Of the norms; divides all channels.
            step_dim: Width of the code of the noise's step, even.
        """
        super().__init__()
        kwargs = {
            "condition_dim": step_dim + features_dim,
            "kernel_size": kernel_size,
            "n_groups": n_groups,
        }
        self.step_code = StepCode(step_dim)
        self.down = nn.ModuleList()
        self.shorten = nn.ModuleList()
        for a, b in pairwise((action_dim, *channels)):
            self.down.append(_pair(a, b, **kwargs))
        for width in channels[:-1]:
            self.shorten.append(nn.Conv1d(width, width, 3, stride=2, padding=1))
        self.middle = _pair(channels[-1], channels[-1], **kwargs)
        self.up = nn.ModuleList()
        self.lengthen = nn.ModuleList()
        for b, a in pairwise(reversed(channels)):
            self.lengthen.append(nn.ConvTranspose1d(b, a, 4, stride=2, padding=1))
            self.up.append(_pair(2 * a, a, **kwargs))
        first = channels[0]
        self.output = nn.Sequential(
            _convolution(first, first, kernel_size=kernel_size, n_groups=n_groups),
            nn.Conv1d(first, action_dim, 1),
        )

    def forward(self, action: Tensor, step: Tensor, features: Tensor) -> Tensor:
        """Predict for noisy actions (B, T, A).

        Args:
            action: (B, T, A)
            step: (B,) int64 of the noise.
            features: (B, n_observations, F)
        """
        condition = torch.cat([self.step_code(step), features.flatten(1)], dim=-1)
        hidden, kept = action.transpose(1, 2), []
        for level, pair in enumerate(self.down):
            hidden = _apply(pair, hidden, condition)
            if level < len(self.shorten):
                kept.append(hidden)
                hidden = self.shorten[level](hidden)
        hidden = _apply(self.middle, hidden, condition)
        for lengthen, pair in zip(self.lengthen, self.up, strict=True):
            hidden = torch.cat([lengthen(hidden), kept.pop()], dim=1)
            hidden = _apply(pair, hidden, condition)
        return self.output(hidden).transpose(1, 2)


def _pair(n_in: int, n_out: int, **kwargs: int) -> nn.ModuleList:
    return nn.ModuleList([_Residual(n_in, n_out, **kwargs), _Residual(n_out, n_out, **kwargs)])


def _apply(pair: nn.ModuleList, hidden: Tensor, condition: Tensor) -> Tensor:
    for block in pair:
        hidden = block(hidden, condition)
    return hidden
