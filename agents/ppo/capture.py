"""What captured work shares: tensors that it changes, learning rates on the device, warming up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.schedules import ScheduleSpec

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent

Hyperparameters = Mapping[str, float | Tensor]

_N_WARM_UPS = 2
# Their state begins with zeros and their step takes its learning rate from a tensor.
_KNOWN_OPTIMIZERS = ("Adam", "AdamW")


def why_not_capture(agent: PPOAgent) -> str | None:
    """Say what keeps an agent's update from being captured; None if nothing does."""
    config = agent.config
    reasons = {
        f"device is {agent.compute_device.type}": agent.compute_device.type != "cuda",
        f"exploration.kind is {config.exploration.kind}": config.exploration.kind != "none",
        "value_normalization is popart": config.value_normalization == "popart",
        "target_kl is set": config.target_kl is not None,
        f"optimizer is {config.optimizer}": config.optimizer not in _KNOWN_OPTIMIZERS,
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


def warm_up_for_capture(work: Callable[[], object], device: torch.device) -> None:
    """Do the work on a stream of its own: what a first call allocates stays out of the graph."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(_N_WARM_UPS):
            work()
    torch.cuda.current_stream(device).wait_stream(stream)


def move_step_counts(optimizer: torch.optim.Optimizer) -> None:
    """Put every `step` where its parameter is: a graph cannot count on the host.

    A state that was read from disk, or that another loop has made, may have it on the CPU.
    """
    for parameter, state in optimizer.state.items():
        if "step" in state:
            state["step"] = state["step"].to(parameter.device)


@contextmanager
def device_learning_rate(optimizer: torch.optim.Optimizer, lr: Tensor) -> Iterator[None]:
    """Let the optimiser's step read its learning rate from a tensor and be captured."""
    before = [(group["lr"], group["capturable"]) for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["lr"], group["capturable"] = lr, True
    try:
        yield
    finally:
        for group, (rate, capturable) in zip(optimizer.param_groups, before, strict=True):
            group["lr"], group["capturable"] = rate, capturable


@contextmanager
def hyperparameters_of(agent: PPOAgent, values: Hyperparameters) -> Iterator[None]:
    """Let the agent's losses read these values, which may be scalars on the device."""
    before = agent.hyperparameters
    agent.hyperparameters = dict(values)
    try:
        yield
    finally:
        agent.hyperparameters = before
