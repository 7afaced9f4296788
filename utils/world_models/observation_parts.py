"""Which parts of an observation are pictures, which are numbers, and which are choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from utils.spaces import check_picture_size, encoded_width, is_picture

Observation = Tensor | dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class PicturePart:
    """One picture of an observation."""

    key: str | None
    """Of a Dict; None where the picture is the whole observation."""
    shape: tuple[int, int, int]
    """(C, H, W)"""


class ObservationParts:
    """The parts of a space, in a fixed order.

    Attributes:
        pictures: Every picture.
        n_numbers: Numbers of all boxes and bits.
        choice_sizes: Number of options of every choice.
    """

    def __init__(self, space: gym.Space) -> None:
        """Sort the parts of a single observation space.

        Raises:
            ConfigError: A part of a kind that networks cannot read.
        """
        is_dict = isinstance(space, gym.spaces.Dict)
        parts: list[tuple[str | None, gym.Space]] = (
            [(key, space[key]) for key in sorted(space.spaces)] if is_dict else [(None, space)]
        )
        self.pictures: list[PicturePart] = []
        self._numbers: list[tuple[str | None, int]] = []
        self._choices: list[tuple[str | None, np.ndarray, np.ndarray]] = []
        for key, part in parts:
            check_picture_size(part)
            if is_picture(part):
                self.pictures.append(PicturePart(key, part.shape))
            elif isinstance(part, gym.spaces.Discrete):
                # Whatever the space counts from: one-hot vectors count from 0.
                self._choices.append((key, np.array([part.n]), np.array([int(part.start)])))
            elif isinstance(part, gym.spaces.MultiDiscrete):
                start = part.start.reshape(-1).astype(np.int64)
                self._choices.append((key, part.nvec.reshape(-1), start))
            else:
                self._numbers.append((key, encoded_width(part)))
        self.n_numbers = sum(width for _, width in self._numbers)
        self.choice_sizes = [int(n) for _, sizes, _ in self._choices for n in sizes]

    @property
    def width(self) -> int:
        """Width of `vector`."""
        return self.n_numbers + sum(self.choice_sizes)

    def picture(self, part: PicturePart, observation: Observation) -> Tensor:
        """Return one picture in [0, 1], (..., C, H, W) float32."""
        return _part(observation, part.key).float() / 255.0

    def vector(self, observation: Observation, *, n_leading: int) -> Tensor:
        """Return all that is no picture, (..., width) float32: numbers, then choices one-hot.

        Args:
            observation: (..., *shape of the space)
            n_leading: Number of leading dimensions.
        """
        columns = [
            _part(observation, key).flatten(n_leading).float()
            if _part(observation, key).ndim > n_leading
            else _part(observation, key).unsqueeze(-1).float()
            for key, _ in self._numbers
        ]
        for key, sizes, starts in self._choices:
            values = _part(observation, key).long()
            values = values.unsqueeze(-1) if values.ndim == n_leading else values.flatten(n_leading)
            columns += [
                F.one_hot(values[..., i] - int(start), int(n)).float()
                for i, (n, start) in enumerate(zip(sizes, starts, strict=True))
            ]
        return torch.cat(columns, dim=-1)


def _part(observation: Any, key: str | None) -> Tensor:
    return observation if key is None else observation[key]
