"""Exploration with a policy that acts on a world model's state."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from utils.models.captured_call import CapturedCall
from utils.models.fast_products import products_by_tensor_cores
from utils.policies.world_model_policy import Belief
from utils.rollouts.experience_collector import Decision
from utils.rollouts.stepper import Observation


class WorldModelExplorer:
    """Draws from the policy, and adds noise to continuous actions if asked to."""

    def __init__(
        self, policy: Belief, *, seed: int, device: torch.device, noise: float = 0.0
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
        self._captured: CapturedCall | None = None
        self._keys: list[str] | None = None
        if device.type == "cuda":
            self._captured = CapturedCall(self._choose_by_leaves, generators=[self._generator])

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
        assert mask is None, "a world model knows no masks"
        assert state is not None, "a policy with a memory needs its state"
        if self._captured is None:
            return Decision(*self._choose(observation, state))
        leaves = [observation]
        if isinstance(observation, dict):
            self._keys = sorted(observation)
            leaves = [observation[key] for key in self._keys]
        return Decision(*self._captured(state, *leaves))

    def _choose_by_leaves(self, state: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        """Do what `_choose` does with the parts of a Dict in the order of its keys."""
        if self._keys is None:
            return self._choose(leaves[0], state)
        return self._choose(dict(zip(self._keys, leaves, strict=True)), state)

    def _choose(self, observation: Observation, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions in the units of the environment, the same as drawn, and the memory."""
        policy = self._policy
        with products_by_tensor_cores():
            drawn, belief, _ = policy.choose(
                observation, generator=self._generator, deterministic=False, mask=None, state=state
            )
        if policy.code.is_continuous:
            if self._noise:
                normal = torch.empty_like(drawn).normal_(generator=self._generator)
                drawn = drawn + self._noise * normal
            drawn = drawn.clamp(-1.0, 1.0)
        memory = policy.join(belief, policy.code.encode(drawn))
        return policy.code.to_env(drawn), drawn, memory

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose evenly for n environments; see `Explorer`."""
        assert mask is None, "a world model knows no masks"
        drawn = self._policy.code.draw_evenly(n, self._generator)
        return Decision(self._policy.code.to_env(drawn), drawn)

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state."""
        return {"generator": self._generator.get_state(), "device": self._generator.device.type}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; the generators of other devices draw otherwise."""
        if state["device"] == self._generator.device.type:
            self._generator.set_state(state["generator"])
