"""Rollouts in which one half of the environments plays while the policy thinks about the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from typing_extensions import override

from utils.policy_factory import ActorCritic
from utils.rollouts.buffer import RolloutBuffer
from utils.rollouts.collector import Collector, RolloutSummary
from utils.rollouts.stepper import ObservationArray

N_PARTS = 2


def why_not_alternating(
    env: VectorEnv, policy: ActorCritic, *, normalizes_reward: bool
) -> str | None:
    """Say in a few words why `AlternatingCollector` cannot collect; None if it can."""
    if not hasattr(env, "split"):
        return "the environments cannot be split"
    if env.num_envs % N_PARTS:
        return f"n_envs is no multiple of {N_PARTS}"
    if policy.has_memory or policy.has_masks:
        return "the policy has a memory or action masks"
    if policy.normalizer.learns:
        return "observations are normalised by running moments"
    return "rewards are normalised" if normalizes_reward else None


class AlternatingCollector(Collector):
    """Does what `Collector` does for environments that have threads of their own.

    The policy acts for half of the environments at a time, so one that samples draws other
    numbers than for all at once; everything else that is stored is the same.
    """

    def __init__(
        self,
        env: VectorEnv,
        policy: ActorCritic,
        *,
        device: torch.device,
        generator: torch.Generator,
    ) -> None:
        """Divide the environments.

        Args:
            env: Has `split(n_parts)`, whose parts have `send` and `recv`; not yet reset.
            policy: One for which `why_not_alternating` has nothing to say.
            device: Where the policy lives.
            generator: Source of the policy's randomness, on `device`.
        """
        super().__init__(env, policy, device=device, generator=generator)
        self.parts = tuple(
            Collector(part, policy, device=device, generator=generator)
            for part in env.split(N_PARTS)
        )
        for part in self.parts:
            part.stepper.tracker.share_window(self.stepper.tracker)

    @property
    @override
    def has_started(self) -> bool:
        return self.parts[0].has_started

    @override
    def reset(self, *, seed: int) -> None:
        observation, _ = self.env.reset(seed=seed)
        for part, rows in zip(self.parts, _divide(observation), strict=True):
            part.stepper.tracker.reset()
            part.stepper.restore(rows, None)

    @override
    @torch.inference_mode()
    def collect(self, buffer: RolloutBuffer, *, n_steps: int) -> RolloutSummary:
        buffer.begin(n_steps)
        n = buffer.n_envs // N_PARTS
        halves = [buffer.columns(k * n, (k + 1) * n) for k in range(N_PARTS)]
        pairs = list(zip(self.parts, halves, strict=True))
        for part in self.parts:
            part._finals.clear()
        returns: list[float] = []
        for t in range(n_steps + 1):
            for part, half in pairs:
                if t > 0:
                    finished = part._end_step(half, t - 1).finished
                    returns += [] if finished is None else finished.returns.tolist()
                if t < n_steps:
                    part._begin_step(half, t)
        for part, half in pairs:
            part._write_next_values(half)
        self.stepper.n_vec_steps += n_steps
        return self._summarize(n_steps, returns)

    @override
    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()  # its tracker has the window, and the parts what is running
        running = [part.stepper.tracker.state_dict() for part in self.parts]
        for key in ("returns", "lengths"):
            state["tracker"][key] = [x for tracker in running for x in tracker[key]]
        return state

    @override
    def load_state_dict(self, state: dict[str, Any]) -> int:
        observation, restored = self.env.set_state(state["env"])
        self.stepper.n_vec_steps = state["n_vec_steps"]
        self._restore_generator(state)
        n = self.env.num_envs // N_PARTS
        for k, (part, rows) in enumerate(zip(self.parts, _divide(observation), strict=True)):
            own = slice(k * n, (k + 1) * n)
            part.stepper.restore(rows, None)
            tracker = state["tracker"]
            running = {key: tracker[key][own] for key in ("returns", "lengths")}
            part.stepper.tracker.load_state_dict(tracker | running)
            part.stepper.tracker.reset(np.flatnonzero(~restored[own]))
        return int((~restored).sum())


def _divide(observation: ObservationArray) -> list[ObservationArray]:
    if isinstance(observation, dict):
        halves = {key: np.split(part, N_PARTS) for key, part in observation.items()}
        return [{key: part[k] for key, part in halves.items()} for k in range(N_PARTS)]
    return list(np.split(observation, N_PARTS))
