"""What every measure of novelty offers, and what it looks at."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from utils.exploration.whitening import Observation, Whitening


class Transition(NamedTuple):
    """B transitions as the environments gave them, on the device of the networks."""

    observation: Observation
    """(B, ...) raw, before any normalisation for the policy."""
    action: Tensor
    """(B, ...) as the policy drew it."""
    next_observation: Observation
    """(B, ...) raw; where the episode ended the final observation, never the next episode's."""

    @property
    def n(self) -> int:
        """Number of transitions B."""
        return self.action.shape[0]


class Novelty(nn.Module):
    """Says how new a transition is, and learns so that it is new no longer."""

    whitening: Whitening
    """Its own running moments of raw observations."""

    def bonus(self, transition: Transition) -> Tensor:
        """Return how new each transition is, (B,) >= 0, before any scaling; without gradient."""
        raise NotImplementedError

    def losses(self, transition: Transition) -> dict[str, Tensor]:
        """Return the terms of the loss of each transition, (B,) each, by name.

        The first one, "novelty_loss", is what is minimised; others are there to be told.
        """
        raise NotImplementedError
