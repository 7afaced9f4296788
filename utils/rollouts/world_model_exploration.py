"""Exploration with a policy that acts on a world model's state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from utils.policies.world_model_policy import WorldModelPolicy
from utils.rollouts.experience_collector import Decision
from utils.rollouts.stepper import Observation


class WorldModelExplorer:
    """Draws from the policy, and adds noise to continuous actions if asked to."""

    def __init__(
        self, policy: WorldModelPolicy, *, seed: int, device: torch.device, noise: float = 0.0
    ) -> None:
        """Bind a policy.

        Args:
            policy: Lives on `device`.
            seed: Of all draws.
            device: Of the observations.
            noise: Deviation of the normal noise on actions of a Box, in [-1, 1] units.
        """
        self._policy, self._noise = policy, noise
        self._generator = torch.Generator(device=device)
        self._generator.manual_seed(seed)

    def decide(
        self,
        observation: Observation,
        *,
        mask: Tensor | None,
        timesteps: int,
        state: Tensor | None = None,
    ) -> Decision:
        """Choose for raw observations (N, ...); see `Explorer`."""
        del timesteps
        policy = self._policy
        drawn, belief, _ = policy.choose(
            observation, generator=self._generator, deterministic=False, mask=mask, state=state
        )
        if policy.code.is_continuous:
            if self._noise:
                normal = torch.empty_like(drawn).normal_(generator=self._generator)
                drawn = drawn + self._noise * normal
            drawn = drawn.clamp(-1.0, 1.0)
        return self._decision(drawn, policy.join(belief, policy.code.encode(drawn)))

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose evenly for n environments; see `Explorer`."""
        assert mask is None, "a world model knows no masks"
        return self._decision(self._policy.code.draw_evenly(n, self._generator), None)

    def _decision(self, drawn: Tensor, state: Tensor | None) -> Decision:
        return Decision(self._policy.code.to_env(drawn), drawn, state)

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state."""
        return {"generator": self._generator.get_state(), "device": self._generator.device.type}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; the generators of other devices draw otherwise."""
        if state["device"] == self._generator.device.type:
            self._generator.set_state(state["generator"])
