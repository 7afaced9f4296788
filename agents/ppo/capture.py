"""What captured work of PPO shares: tensors that it changes, hyperparameters on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.optimization.capture import CAPTURABLE_OPTIMIZERS
from utils.schedules import ScheduleSpec

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent

Hyperparameters = Mapping[str, float | Tensor]


def why_not_capture(agent: PPOAgent) -> str | None:
    """Say what keeps an agent's update from being captured; None if nothing does."""
    config = agent.config
    reasons = {
        f"device is {agent.compute_device.type}": agent.compute_device.type != "cuda",
        f"exploration.kind is {config.exploration.kind}": config.exploration.kind != "none",
        "value_normalization is popart": config.value_normalization == "popart",
        "target_kl is set": config.target_kl is not None,
        f"optimizer is {config.optimizer}": config.optimizer not in CAPTURABLE_OPTIMIZERS,
        "optimizer_kwargs are set": bool(set(config.optimizer_kwargs) & {"foreach", "fused"}),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class DeviceScalars:
    """The hyperparameters that may change while a graph stays: learning rate and schedules."""

    def __init__(self, agent: PPOAgent) -> None:
        """Allocate a scalar for each."""
        schedules = agent.config.hyperparameters
        names = ["policy_lr"] + [n for n, v in schedules.items() if isinstance(v, ScheduleSpec)]
        self.values = {
            name: torch.zeros((), device=agent.compute_device) for name in dict.fromkeys(names)
        }

    def set(self, hyperparameters: Mapping[str, float]) -> None:
        """Write the numbers that hold now."""
        for name, scalar in self.values.items():
            scalar.fill_(hyperparameters[name])

    def constants(self, hyperparameters: Mapping[str, float]) -> list[tuple[str, float]]:
        """Return the other hyperparameters, which become part of a graph."""
        return [item for item in sorted(hyperparameters.items()) if item[0] not in self.values]


def learnt_tensors(agent: PPOAgent) -> list[Tensor]:
    """Return parameters and the optimiser's tensors, as far as it has made them."""
    optimizer, parameters = agent.optimizer, agent.gradient_groups.parameters
    states = [optimizer.state[p] for p in parameters if p in optimizer.state]
    tensors = [value for state in states for value in state.values()]
    return [*parameters, *(t for t in tensors if isinstance(t, Tensor))]


def snapshot(agent: PPOAgent) -> Callable[[], None]:
    """Copy what learning changes; returns the function that puts it back."""
    before = [(tensor, tensor.detach().clone()) for tensor in learnt_tensors(agent)]

    def restore() -> None:
        known = {id(tensor) for tensor, _ in before}
        with torch.no_grad():
            for tensor, copy in before:
                tensor.copy_(copy)
            for tensor in learnt_tensors(agent):
                if id(tensor) not in known:  # the warm-up's first step has made it
                    tensor.zero_()

    return restore


@contextmanager
def hyperparameters_of(agent: PPOAgent, values: Hyperparameters) -> Iterator[None]:
    """Let the agent's losses read these values, which may be scalars on the device."""
    before = agent.hyperparameters
    agent.hyperparameters = dict(values)
    try:
        yield
    finally:
        agent.hyperparameters = before
