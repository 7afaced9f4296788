"""A policy without networks that checks what it is shown and says what it was shown."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.helpers.vector_envs import encode
from utils.distributions import Categorical
from utils.normalization import ObservationNormalizer
from utils.policy_factory import PolicyStep

Observation = Tensor | dict[str, Tensor]


def encode_rows(observation: Observation) -> Tensor:
    """(B,) number of each row of observations of `CountingVectorEnv`."""
    if isinstance(observation, dict):
        episode, step = observation["when"].unbind(-1)
        return encode(observation["env"], episode, step)
    return encode(*observation.unbind(-1))


class CountingPolicy:
    """Acts with the number of what it sees, values it at half of that, and may be told otherwise.

    Attributes:
        seen: What it acted on, one (N,) tensor of numbers for each step.
    """

    def __init__(
        self,
        *,
        has_critic: bool = True,
        act: Callable[[Tensor], Tensor] = lambda number: number.to(torch.int64),
    ) -> None:
        self.normalizer = ObservationNormalizer()
        self.distribution = Categorical(1000)
        self.has_critic = has_critic
        self.has_memory = self.has_masks = False
        self.seen: list[Tensor] = []
        self._act = act

    def normalize(self, observation: Observation) -> Observation:
        return self.normalizer(observation)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        assert mask is None
        assert state is None
        number = encode_rows(observation).clone()
        self.seen.append(number)
        return PolicyStep(self._act(number), -number / 7, self.predict_value(observation))

    def initial_state(self, n: int) -> None:
        """It remembers nothing."""

    def predict_value(self, observation: Observation, *, state: Tensor | None = None) -> Tensor:
        assert state is None
        return encode_rows(observation) / 2
