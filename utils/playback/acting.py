"""A policy that acts in several environments so that each episode is the one it would be alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from utils.policies import Policy, PolicyStep
from utils.policies.random_policy import RandomPolicy


class SideBySide:
    """Acts for N environments, of which each is to play as if it were the only one.

    Sampled actions come from one generator for each environment. Greedy choices are one call of the
    networks for all. Everything else is a call for each: a row of a batch is rounded otherwise than
    the row alone, and a continuous action carries the difference into the rest of its episode,
    where a choice forgets it. A random policy draws its choices, greedy or not.

    It stands where a `Stepper` expects a policy.
    """

    def __init__(
        self,
        policy: Policy,
        action_space: gym.Space,
        *,
        seeds: Sequence[int],
        deterministic: bool,
        device: torch.device,
    ) -> None:
        """Prepare to act.

        Args:
            policy: Acts as it is.
            action_space: Of one environment.
            seeds: Of each environment's sampled actions.
            deterministic: Most likely actions rather than samples.
            device: Where the policy lives.
        """
        self.policy = policy
        self.has_masks = policy.has_masks
        self._deterministic = deterministic
        self._generators = [torch.Generator(device=device).manual_seed(seed) for seed in seeds]
        n_envs = len(seeds)
        draws = not deterministic or isinstance(policy, RandomPolicy)
        is_alone = draws or isinstance(action_space, gym.spaces.Box)
        self._parts = [slice(k, k + 1) for k in range(n_envs)] if is_alone else [slice(n_envs)]

    def initial_state(self, n: int) -> Tensor | None:
        """Return the memory of n environments at the start of an episode; None without one."""
        return self.policy.initial_state(n)

    def act(
        self, observation: Any, *, mask: Tensor | None, state: Tensor | None, **_: object
    ) -> PolicyStep:
        """Choose an action for each row; see `Policy.act`, of which this keeps the shape."""
        steps = [
            self.policy.act(
                _rows(observation, part),
                generator=self._generators[part.start or 0],
                deterministic=self._deterministic,
                mask=_rows(mask, part),
                state=_rows(state, part),
            )
            for part in self._parts
        ]
        if len(steps) == 1:
            return steps[0]
        columns = zip(*steps, strict=True)
        return PolicyStep(*(None if column[0] is None else torch.cat(column) for column in columns))


def _rows(values: Any, part: slice) -> Any:
    if isinstance(values, dict):
        return {key: value[part] for key, value in values.items()}
    return None if values is None else values[part]
