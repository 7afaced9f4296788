"""Random actions that are held for some steps, and a policy's own once it has learnt."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from utils.policies.linear_controller_policy import LinearControllerPolicy
from utils.rollouts.experience_collector import Decision
from utils.rollouts.stepper import Observation


class HeldRandomExplorer:
    """Draws an action evenly and holds it, in each environment for itself.

    Single random steps cancel each other out, and a run of them sees little of the world.
    """

    def __init__(
        self,
        policy: LinearControllerPolicy,
        n_envs: int,
        *,
        held_steps: tuple[int, int],
        seed: int,
        device: torch.device,
    ) -> None:
        """Bind a policy.

        Args:
            policy: Whose actions are drawn, and who acts when it is asked to.
            n_envs: Number of environments.
            held_steps: Least and most steps that an action is held, drawn evenly.
            seed: Of all draws.
            device: Where the policy lives.
        """
        self._policy, self._held = policy, held_steps
        self._device = device
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)
        self._left = torch.zeros(n_envs, dtype=torch.int64)
        self._action = policy.draw_evenly(n_envs, self._generator)

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose for n environments without looking; see `Explorer`."""
        assert mask is None, "a world model knows no masks"
        least, most = self._held
        fresh = self._policy.draw_evenly(n, self._generator)
        n_steps = torch.randint(least, most + 1, (n,), generator=self._generator)
        is_new = self._left == 0
        shaped = is_new.to(self._device).view(-1, *([1] * (fresh.ndim - 1)))
        self._action = torch.where(shaped, fresh, self._action)
        self._left = torch.where(is_new, n_steps, self._left) - 1
        return Decision(self._policy.code.to_env(self._action), self._action)

    def decide(
        self,
        observation: Observation,
        *,
        mask: Tensor | None,
        timesteps: int,
        state: Tensor | None = None,
    ) -> Decision:
        """Let the policy act as it is, with the likeliest latents; see `Explorer`."""
        del timesteps
        drawn, belief, _ = self._policy.choose(
            observation, generator=None, deterministic=True, mask=mask, state=state
        )
        memory = self._policy.join(belief, self._policy.code.encode(drawn))
        return Decision(self._policy.code.to_env(drawn), drawn, memory)

    def state_dict(self) -> dict[str, Any]:
        """Return the generator and what is held."""
        return {
            "generator": self._generator.get_state(),
            "left": self._left,
            "action": self._action,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._generator.set_state(state["generator"])
        self._left, self._action = state["left"], state["action"].to(self._device)
