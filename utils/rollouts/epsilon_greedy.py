"""Exploration by now and then taking any action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.rollouts.experience_collector import Decision
from utils.rollouts.stepper import Observation

ChooseBest = Callable[[Observation, Tensor | None], np.ndarray]
"""Raw observations (N, ...) and mask (N, A) or None -> the best actions, (N,) int64."""


class EpsilonGreedy:
    """Takes the best action, or with probability epsilon one drawn evenly from those allowed.

    Each decision draws two numbers for every environment, whatever becomes of them: the stream of
    random numbers does not depend on epsilon.
    """

    def __init__(
        self,
        choose_best: ChooseBest,
        *,
        epsilon: Callable[[int], float],
        n_actions: int,
        seed: int,
        always_asks: bool = False,
    ) -> None:
        """Bind who knows the best action.

        Args:
            choose_best: Is asked where at least one environment does not explore.
            epsilon: Timesteps so far -> probability of a random action.
            n_actions: Number of actions A.
            seed: Of the draws.
            always_asks: Ask `choose_best` even where all environments explore: what it draws itself
                stays the same in several processes, of which each has some of the environments.
        """
        self._always_asks = always_asks
        self.choose_best = choose_best
        self._epsilon = epsilon
        self._n_actions = n_actions
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def decide(self, observation: Observation, *, mask: Tensor | None, timesteps: int) -> Decision:
        """Choose for raw observations (N, ...); see `Explorer`."""
        n = _first(observation).shape[0]
        explores, drawn = self._generator.random((2, n))
        is_random = explores < self._epsilon(timesteps)
        n_random = np.count_nonzero(is_random)
        if n_random == n and not self._always_asks:
            return _decision(self._pick(drawn, mask))
        best = self.choose_best(observation, mask)
        if n_random == 0:
            return _decision(best)
        return _decision(np.where(is_random, self._pick(drawn, mask), best))

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose evenly for n environments; see `Explorer`."""
        _, drawn = self._generator.random((2, n))
        return _decision(self._pick(drawn, mask))

    def _pick(self, drawn: np.ndarray, mask: Tensor | None) -> np.ndarray:
        if mask is None:
            return (drawn * self._n_actions).astype(np.int64)
        # The k-th of the allowed ones, k even among them.
        counts = mask.numpy(force=True).cumsum(axis=1)
        wanted = (drawn * counts[:, -1]).astype(np.int64) + 1
        return (counts < wanted[:, None]).sum(axis=1)

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state."""
        return {"generator": self._generator.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._generator.bit_generator.state = state["generator"]


def _decision(action: np.ndarray) -> Decision:
    tensor = torch.from_numpy(action)
    return Decision(tensor, tensor)


def _first(observation: Observation) -> Tensor:
    return next(iter(observation.values())) if isinstance(observation, dict) else observation
