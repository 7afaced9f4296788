"""A table of values, one for each pair of state and action, and the policy that goes by it."""

from __future__ import annotations

import math

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.normalization import ObservationNormalizer
from utils.policies.actor_critic import Observation, PolicyStep

_MOST_PAIRS = 100_000_000


class QTable(nn.Module):
    """Values of pairs of state and action; see `utils.policies.Policy`.

    Attributes:
        q: (S, A) float64, the values.
        n_visits: (S, A) int64, how often each was learnt.
    """

    has_memory = False
    memory = None
    has_critic = False

    def __init__(
        self,
        observation_space: gym.Space,
        action_space: gym.Space,
        *,
        initial_value: float,
        action_masks: bool,
    ) -> None:
        """Fill the table with one value.

        Args:
            observation_space: Discrete or MultiDiscrete, any start.
            action_space: Discrete, any start.
            initial_value: Of every pair.
            action_masks: Choose only among the actions that the environment allows.

        Raises:
            ConfigError: Spaces that have no table, or too large a one.
        """
        super().__init__()
        self.has_masks = action_masks
        self.normalizer = ObservationNormalizer()
        sizes, starts = _sizes_of(observation_space)
        if not isinstance(action_space, gym.spaces.Discrete):
            raise ConfigError(f"q_learning has a column for each action, and the action space is "
                              f"{action_space}: only Discrete has a number of them")  # fmt: skip
        n_states, n_actions = math.prod(sizes), int(action_space.n)
        if n_states * n_actions > _MOST_PAIRS:
            raise ConfigError(
                f"q_learning would need a table of {n_states:,} states x {n_actions} actions: "
                "use dqn, which does not look at each state by itself"
            )
        strides = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
        self.register_buffer("_starts", torch.tensor(starts), persistent=False)
        self.register_buffer("_strides", torch.tensor(strides), persistent=False)
        table = torch.full((n_states, n_actions), float(initial_value), dtype=torch.float64)
        self.register_buffer("q", table)
        self.register_buffer("n_visits", torch.zeros((n_states, n_actions), dtype=torch.int64))

    def state_index(self, observation: Observation) -> Tensor:
        """Return the rows of the table, (B,) int64, for raw observations (B,) or (B, parts)."""
        assert isinstance(observation, Tensor), type(observation)
        parts = observation.reshape(observation.shape[0], -1).to(torch.int64)
        return ((parts - self._starts) * self._strides).sum(dim=1)

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Observation) -> Observation:
        """Return the observation as it is."""
        return observation

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose the best action of each row; see `Policy.act`. Nothing is drawn."""
        del generator, deterministic, state
        value, action = self._allowed(observation, mask).max(dim=1)
        return PolicyStep(action, torch.zeros_like(value), value)

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return "q_values" (B, A) and their best, "value" (B,); forbidden actions have -inf."""
        del state
        q = self._allowed(observation, mask)
        return {"q_values": q, "value": q.max(dim=1).values}

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return the best "action", and see `explain`."""
        outputs = self.explain(observation, mask=mask, state=state)
        return {"action": outputs["q_values"].argmax(dim=1), **outputs}

    def action_std(self) -> float | None:
        """Return None: actions are choices."""
        return None

    def _allowed(self, observation: Observation, mask: Tensor | None) -> Tensor:
        q = self.q[self.state_index(observation)].to(torch.float32)
        return q if mask is None else q.masked_fill(~mask, -torch.inf)


def _sizes_of(space: gym.Space) -> tuple[list[int], list[int]]:
    """Return size and first value of each part of a state."""
    match space:
        case gym.spaces.Discrete():
            return [int(space.n)], [int(space.start)]
        case gym.spaces.MultiDiscrete():
            return space.nvec.reshape(-1).tolist(), space.start.reshape(-1).tolist()
    raise ConfigError(
        f"q_learning has a row for each state, and the observation space is "
        f"{' '.join(str(space).split())}: only Discrete and MultiDiscrete count them; use dqn"
    )
