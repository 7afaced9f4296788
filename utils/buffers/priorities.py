"""Prioritised sampling of places in a ring (Schaul et al. 2016, Prioritized experience replay)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from utils.buffers import priority_kernels, sum_tree_kernels
from utils.buffers.place import Place
from utils.buffers.sum_tree import WIDE, SumTree, tree_bytes
from utils.buffers.sum_tree_kernels import FAN_OUT
from utils.uploads import upload


@dataclass(frozen=True, kw_only=True, slots=True)
class Priorities:
    """Settings of proportional prioritisation (section 3.3)."""

    alpha: float = 0.6
    """In [0, 1]; 0 is uniform."""
    epsilon: float = 1e-6
    """Keeps what was learned perfectly from never being seen again."""


class PriorityIndex:
    """Priorities of places, and draws in proportion to them.

    P(i) = p_i^alpha / sum_k p_k^alpha with p_i = |error_i| + epsilon (equation 1). A draw of B is
    stratified: the sum is cut into B equal ranges and one place drawn from each (appendix B.2.1).

    In ordinary memory the work is compiled; elsewhere it is tensor operations of which none reads a
    number back. Both draw the same places from the same numbers.
    """

    def __init__(
        self, n_places: int, *, settings: Priorities, place: Place, is_compiled: bool | None = None
    ) -> None:
        """Allocate the tree; nothing can be drawn until something was admitted.

        Args:
            n_places: Number of places.
            settings: Exponent and least priority.
            place: Where the tree lies.
            is_compiled: Whether compiled code does the work; None for where that is possible.
        """
        self.settings = settings
        self._is_compiled = place.is_ordinary if is_compiled is None else is_compiled
        fan_out = FAN_OUT if self._is_compiled else WIDE
        self.tree = SumTree(n_places + 1, place=place, fan_out=fan_out)
        self._n_places = n_places
        self._device = place.device
        self.max_of_all: Callable[[Tensor], Tensor] | None = None
        """Turns the largest weight, (), of this part of a batch into that of the whole batch, where
        other processes draw other parts from places of their own; None where this is the whole."""
        self.highest = torch.ones((), dtype=torch.float64, device=place.device)
        """() float64, the highest p so far; 1 at the start."""
        if self._is_compiled:
            self._nodes, self._offsets = self.tree.nodes.numpy(), self.tree.offsets
            self._highest = self.highest.numpy()
            self._numbers = np.array([settings.alpha, settings.epsilon])

    def admit(self, start: int, stop: int) -> None:
        """Give the places `start` to `stop` - 1 the highest priority so far (algorithm 1, line 6).

        What was never learned from is thus seen soon.
        """
        self._fill(start, stop, self._new_weight())

    def expel(self, start: int, stop: int) -> None:
        """See to it that the places `start` to `stop` - 1 are not drawn."""
        self._fill(start, stop, 0.0)

    def admit_places(self, places: np.ndarray) -> None:
        """Give places (n,) int64 the highest priority so far."""
        self._write(places, self._new_weight())

    def expel_places(self, places: np.ndarray) -> None:
        """See to it that places (n,) int64 are not drawn."""
        self._write(places, 0.0)

    def _new_weight(self) -> float | Tensor:
        if self._is_compiled:
            return float(self._highest) ** self.settings.alpha
        return self.highest**self.settings.alpha

    def _write(self, places: np.ndarray, weight: float | Tensor) -> None:
        if self._is_compiled:
            weights = np.full(len(places), weight)
            sum_tree_kernels.write_leaves(self._nodes, self._offsets, places, weights)
        elif len(places):
            index = upload(places, self._device)
            level = torch.as_tensor(weight, dtype=torch.float64, device=self._device)
            self.tree.write(index, level.expand(len(places)))

    def _fill(self, start: int, stop: int, weight: float | Tensor) -> None:
        if self._is_compiled:
            sum_tree_kernels.fill_range(self._nodes, self._offsets, start, stop, float(weight))
        else:
            self.tree.fill(start, stop, weight)

    def draw(self, batch_size: int, *, generator: torch.Generator) -> Tensor:
        """Draw places, (batch_size,) int64, one from each of as many ranges of equal mass."""
        uniform = torch.rand(
            batch_size, dtype=torch.float64, generator=generator, device=generator.device
        ).to(self._device)
        if self._is_compiled:
            return torch.from_numpy(
                priority_kernels.draw_places(self._nodes, self._offsets, uniform.numpy())
            )
        strata = torch.arange(batch_size, dtype=torch.float64, device=self._device)
        return self.tree.find((strata + uniform) * (self.tree.total() / batch_size))

    def weights(self, index: Tensor, *, n: int | Tensor, beta: float | Tensor) -> Tensor:
        """Return importance weights w_i = (n P(i))^-beta / max_j w_j (section 3.4).

        Differs: the largest weight is that of the batch, not of all that is held.

        Args:
            index: (B,) int64, places, or names of which the rest modulo their number is the place.
            n: Number of places that can be drawn; () int64 where a graph shall read it.
            beta: In [0, 1]; 1 makes up for all of the bias. A tensor () where a graph
                shall read it.

        Returns:
            (B,) float32 in (0, 1].
        """
        if self._is_compiled:
            index = index.contiguous()
            weight = torch.empty(len(index))
            priority_kernels.weigh_places(
                self._nodes,
                self._offsets,
                index.numpy(),
                self._n_places,
                n,
                float(beta),
                weight.numpy(),
            )
        else:
            leaves = self.tree.leaves[index % self._n_places]
            # The number of places and the sum are in all of them, and so in none of the ratios.
            weight = ((leaves.min() / leaves) ** beta).float()
        if self.max_of_all is None:
            return weight
        least = self.tree.leaves[index % self._n_places].min() / self.tree.total()
        largest = (n * least) ** -beta
        return weight * (largest / self.max_of_all(largest)).float()

    def update(self, index: Tensor, errors: Tensor, *, oldest: int | Tensor = 0) -> None:
        """Take in how wrong the learner was.

        Args:
            index: (B,) int64, see `weights`; where one is there twice the larger error counts.
            errors: (B,) of any sign. One that is not finite is passed over: the sums would never be
                numbers again, before whoever watches the loss can say that it has diverged.
            oldest: What is named by a smaller number is not held any more, and passed over. ()
                int64 where a graph shall read it.
        """
        assert index.shape == errors.shape, (index.shape, errors.shape)
        index, errors = index.contiguous(), errors.detach().double().contiguous()
        if self._is_compiled:
            priority_kernels.update_places(
                self._nodes,
                self._offsets,
                index.numpy(),
                oldest,
                self._n_places,
                errors.numpy(),
                self._numbers,
                self._highest,
            )
            return
        priority = errors.abs() + self.settings.epsilon
        is_held = (index >= oldest) & (priority < torch.inf)
        highest = torch.where(is_held, priority, 0.0).max()
        torch.maximum(self.highest, highest, out=self.highest)
        # Behind the last place lies one that takes what belongs nowhere any more.
        places = torch.where(is_held, index % self._n_places, self._n_places)
        self.tree.write(places, torch.where(is_held, priority**self.settings.alpha, 0.0))

    def tensors(self) -> list[Tensor]:
        """Return all that draws and updates read and change."""
        return [self.tree.nodes, self.highest]


def priority_bytes(n_places: int) -> int:
    """Return the bytes of a `PriorityIndex`."""
    return tree_bytes(n_places + 1)
