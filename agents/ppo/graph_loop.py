"""The loop that replays a captured iteration: no operation is launched from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from agents.ppo.device_iteration import DeviceIteration, Hyperparameters
from agents.ppo.device_loop import LoopReport
from agents.ppo.loop_state import export_generators, load_generators
from utils.optimization import set_learning_rate
from utils.schedules import ScheduleSpec

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent

_N_WARM_UP_ITERATIONS = 2
# Their state begins with zeros and their step takes its learning rate from a tensor.
_KNOWN_OPTIMIZERS = ("Adam", "AdamW")


def why_not_graph(agent: PPOAgent) -> str | None:
    """Say what keeps an agent's iteration from being captured; None if nothing does."""
    config = agent.config
    reasons = {
        f"device is {agent.compute_device.type}": agent.compute_device.type != "cuda",
        f"exploration.kind is {config.exploration.kind}": config.exploration.kind != "none",
        "value_normalization is popart": config.value_normalization == "popart",
        "target_kl is set": config.target_kl is not None,
        "normalize_obs is rolling": agent.policy.normalizer.learns,
        f"optimizer is {config.optimizer}": config.optimizer not in _KNOWN_OPTIMIZERS,
        "optimizer_kwargs are set": bool(set(config.optimizer_kwargs) & {"foreach", "fused"}),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class GraphLoop:
    """Captures one iteration in a CUDA graph at the first run and replays it from then on.

    The graph reads and writes the tensors of the agent, of its optimiser and of its environment
    where they are; it is captured anew when one of them has moved. Learning rate and scheduled
    hyperparameters are scalars on the device, the others are part of the graph.
    """

    name = "graph"

    def __init__(self, agent: PPOAgent) -> None:
        """Prepare the iteration; nothing is captured yet."""
        assert why_not_graph(agent) is None, why_not_graph(agent)
        self.iteration = DeviceIteration(agent)
        schedules = agent.config.hyperparameters
        names = ["policy_lr"] + [n for n, v in schedules.items() if isinstance(v, ScheduleSpec)]
        self._scalars = {
            name: torch.zeros((), device=self.iteration.device) for name in dict.fromkeys(names)
        }
        self._graph: torch.cuda.CUDAGraph | None = None
        self._captured_for: tuple[Any, ...] = ()
        self.n_captures = 0

    def run(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        """Carry out iterations with the same hyperparameters; see `DeviceLoop`."""
        move_step_counts(self.iteration.agent.optimizer)
        for name, scalar in self._scalars.items():
            scalar.fill_(hyperparameters[name])
        if self._graph is None or self._captured_for != self._key(hyperparameters):
            self._capture(hyperparameters)
        assert self._graph is not None
        iteration = self.iteration
        iteration.begin()
        for _ in range(n_iterations):
            self._graph.replay()
        n_updates = n_iterations * self._n_steps_an_iteration
        # Whoever saves the optimiser shall find the rate that was used, as a number.
        set_learning_rate(iteration.agent.optimizer, hyperparameters["policy_lr"])
        return iteration.report(n_iterations, n_updates=n_updates)

    def _key(self, hyperparameters: dict[str, float]) -> tuple[Any, ...]:
        """Return what a captured graph depends on: constants and addresses."""
        constants = [
            item for item in sorted(hyperparameters.items()) if item[0] not in self._scalars
        ]
        return (constants, [tensor.data_ptr() for tensor in self._learnt_tensors()])

    def _learnt_tensors(self) -> list[Tensor]:
        optimizer = self.iteration.agent.optimizer
        parameters = self.iteration.agent.gradient_groups.parameters
        states = [optimizer.state[p] for p in parameters if p in optimizer.state]
        tensors = [value for state in states for value in state.values()]
        return [*parameters, *(t for t in tensors if isinstance(t, Tensor))]

    def _capture(self, hyperparameters: dict[str, float]) -> None:
        iteration = self.iteration
        mixed: Hyperparameters = {**hyperparameters, **self._scalars}
        self._graph = None  # gives its memory back before more is asked for
        restore = self._snapshot()
        with _device_learning_rate(iteration.agent.optimizer, self._scalars["policy_lr"]):
            stream = torch.cuda.Stream(iteration.device)
            stream.wait_stream(torch.cuda.current_stream(iteration.device))
            with torch.cuda.stream(stream):
                for _ in range(_N_WARM_UP_ITERATIONS):
                    iteration.carry_out(mixed)
            torch.cuda.current_stream(iteration.device).wait_stream(stream)
            restore()
            graph = torch.cuda.CUDAGraph()
            for generator in (iteration.action_generator, iteration.order_generator):
                graph.register_generator_state(generator)
            iteration.n_steps_taken = 0
            with torch.cuda.graph(graph):
                iteration.carry_out(mixed)
        self._n_steps_an_iteration = iteration.n_steps_taken
        self._graph = graph
        self._captured_for = self._key(hyperparameters)
        self.n_captures += 1

    def _snapshot(self) -> Callable[[], None]:
        """Copy all that an iteration changes; returns the function that puts it back."""
        iteration = self.iteration
        env = iteration.agent.train_env
        env_state = env.get_state()
        before = [(tensor, tensor.detach().clone()) for tensor in self._learnt_tensors()]
        generators = (iteration.action_generator, iteration.order_generator)
        states = [generator.get_state() for generator in generators]

        def restore() -> None:
            known = {id(tensor) for tensor, _ in before}
            with torch.no_grad():
                for tensor, copy in before:
                    tensor.copy_(copy)
                for tensor in self._learnt_tensors():
                    if id(tensor) not in known:  # the warm-up's first step has made it
                        tensor.zero_()
            env.set_state(env_state)
            for generator, state in zip(generators, states, strict=True):
                generator.set_state(state)

        return restore

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the random generators."""
        return export_generators(self.iteration)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned, of this kind of loop or of another."""
        load_generators(self.iteration, state)


def move_step_counts(optimizer: torch.optim.Optimizer) -> None:
    """Put every `step` where its parameter is: a graph cannot count on the host.

    A state that was read from disk, or that another loop has made, may have it on the CPU.
    """
    for parameter, state in optimizer.state.items():
        if "step" in state:
            state["step"] = state["step"].to(parameter.device)


@contextmanager
def _device_learning_rate(optimizer: torch.optim.Optimizer, lr: Tensor) -> Iterator[None]:
    """Let the optimiser's step read its learning rate from a tensor and be captured."""
    before = [(group["lr"], group["capturable"]) for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["lr"], group["capturable"] = lr, True
    try:
        yield
    finally:
        for group, (rate, capturable) in zip(optimizer.param_groups, before, strict=True):
            group["lr"], group["capturable"] = rate, capturable
