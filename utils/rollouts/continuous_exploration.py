"""Exploration with continuous actions: a policy's own samples, or noise upon its choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from utils.models.captured_call import CapturedCall
from utils.policies.continuous_actor import DeterministicActor, SquashedNormalActor
from utils.rollouts.experience_collector import Decision
from utils.rollouts.stepper import Observation


class ContinuousExplorer:
    """Chooses in [-1, 1], which is what the buffer stores, and scales it for the environment.

    All noise is normal with deviation 1 at every step, and what one step has of the step before is
    ``z' = c z + sqrt(1 - c^2) e`` with fresh noise e: pushes that last longer the nearer c is to 1.
    The draws of a warm-up are even between the bounds, and as correlated.
    """

    def __init__(
        self,
        actor: SquashedNormalActor | DeterministicActor,
        *,
        seed: int,
        noise: Callable[[int], float] | None = None,
        correlation: float = 0.0,
    ) -> None:
        """Bind an actor.

        Args:
            actor: Lives on the device of the observations.
            seed: Of the draws.
            noise: Timesteps so far -> deviation of the normal noise that is added to a
                deterministic actor's choice, in [-1, 1] units; None for an actor that draws.
            correlation: c, in [0, 1).
        """
        assert (noise is None) == isinstance(actor, SquashedNormalActor), type(actor)
        self._actor = actor
        self._noise = noise
        self._correlation = correlation
        self._last: Tensor | None = None
        device = actor.scale.low.device
        self._generator = torch.Generator(device=device)
        self._generator.manual_seed(seed)
        self._captured: CapturedCall | None = None
        if device.type == "cuda" and correlation == 0.0 and not actor.normalizer.learns:
            self._captured = CapturedCall(self._choose, generators=[self._generator])

    def decide(self, observation: Observation, *, mask: Tensor | None, timesteps: int) -> Decision:
        """Choose for raw observations (N, ...); see `Explorer`."""
        assert mask is None, "continuous actions have no mask"
        scale = 0.0 if self._noise is None else self._noise(timesteps)
        if self._captured is not None and isinstance(observation, Tensor):
            deviation = torch.full((), scale, device=observation.device)
            return Decision(*self._captured(observation, deviation))
        return Decision(*self._choose(observation, scale))

    def _choose(self, observation: Observation, deviation: float | Tensor) -> tuple[Tensor, Tensor]:
        """Return actions in the units of the environment and in [-1, 1], (N, *shape) each."""
        actor = self._actor
        seen = actor.normalize(observation)
        n = len(next(iter(seen.values())) if isinstance(seen, dict) else seen)
        noise = self._normal(n)
        if isinstance(actor, SquashedNormalActor):
            return tuple(self._decision(actor.sample(seen, noise)[0]))
        return tuple(self._decision((actor(seen) + deviation * noise).clamp(-1.0, 1.0)))

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose evenly between the bounds for n environments; see `Explorer`."""
        assert mask is None, "continuous actions have no mask"
        return self._decision(torch.erf(self._normal(n) * 0.5**0.5))

    def _normal(self, n: int) -> Tensor:
        size, device = self._actor.scale.size, self._generator.device
        drawn = torch.randn((n, size), generator=self._generator, device=device)
        c = self._correlation
        if c == 0.0:
            return drawn
        if self._last is not None:
            drawn = c * self._last + (1.0 - c * c) ** 0.5 * drawn
        self._last = drawn
        return drawn

    def _decision(self, action: Tensor) -> Decision:
        scale = self._actor.scale
        return Decision(scale.to_env(action), action.reshape(len(action), *scale.shape))

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state and the last noise."""
        return {
            "generator": self._generator.get_state(),
            "device": self._generator.device.type,
            "last_noise": self._last,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; the generators of other devices draw otherwise."""
        if state["device"] == self._generator.device.type:
            self._generator.set_state(state["generator"])
        last = state["last_noise"]
        self._last = None if last is None else last.to(self._generator.device)


class SampledChoices:
    """Samples the choices of an actor-critic with a discrete distribution."""

    def __init__(self, policy: Any, *, seed: int, device: torch.device) -> None:
        """Bind a policy with logits; see `utils.policies.ActorCritic`."""
        self._policy = policy
        self._generator = torch.Generator(device=device)
        self._generator.manual_seed(seed)

    def decide(self, observation: Observation, *, mask: Tensor | None, timesteps: int) -> Decision:
        """Choose for raw observations (N, ...); see `Explorer`."""
        del timesteps
        policy = self._policy
        seen = policy.normalize(observation)
        action = policy.act(seen, generator=self._generator, mask=mask).action
        return Decision(action, action)

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose evenly among what is allowed; see `Explorer`."""
        n_choices = self._policy.actor_head.out_features
        device = self._generator.device
        weights = torch.ones((n, n_choices), device=device) if mask is None else mask.float()
        action = torch.multinomial(weights, 1, generator=self._generator).squeeze(1)
        return Decision(action, action)

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state."""
        return {"generator": self._generator.get_state(), "device": self._generator.device.type}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; the generators of other devices draw otherwise."""
        if state["device"] == self._generator.device.type:
            self._generator.set_state(state["generator"])
