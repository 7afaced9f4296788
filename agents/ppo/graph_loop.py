"""The loop that replays a captured iteration: no operation is launched from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from agents.ppo.capture import (
    DeviceScalars,
    Hyperparameters,
    learnt_tensors,
    snapshot,
    why_not_capture,
)
from agents.ppo.device_iteration import DeviceIteration
from agents.ppo.device_loop import LoopReport
from agents.ppo.loop_state import export_generators, load_generators
from utils.optimization import set_learning_rate
from utils.optimization.capture import (
    capturing,
    device_learning_rate,
    move_step_counts,
    warm_up_for_capture,
)

if TYPE_CHECKING:
    from agents.ppo.ppo_agent import PPOAgent


def why_not_graph(agent: PPOAgent) -> str | None:
    """Say what keeps an agent's iteration from being captured; None if nothing does."""
    if agent.policy.normalizer.learns:
        return "normalize_obs is rolling"
    return why_not_capture(agent)


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
        self._scalars = DeviceScalars(agent)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._captured_for: tuple[Any, ...] = ()
        self.n_captures = 0

    def run(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        """Carry out iterations with the same hyperparameters; see `DeviceLoop`."""
        move_step_counts(self.iteration.agent.optimizer)
        self._scalars.set(hyperparameters)
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
        addresses = [tensor.data_ptr() for tensor in learnt_tensors(self.iteration.agent)]
        return (self._scalars.constants(hyperparameters), addresses)

    def _capture(self, hyperparameters: dict[str, float]) -> None:
        iteration = self.iteration
        scalars = self._scalars.values
        mixed: Hyperparameters = {**hyperparameters, **scalars}
        self._graph = None  # gives its memory back before more is asked for
        restore = self._snapshot()
        with device_learning_rate(iteration.agent.optimizer, scalars["policy_lr"]):
            warm_up_for_capture(lambda: iteration.carry_out(mixed), iteration.device)
            restore()
            graph = torch.cuda.CUDAGraph()
            for generator in (iteration.action_generator, iteration.order_generator):
                graph.register_generator_state(generator)
            iteration.n_steps_taken = 0
            with capturing(graph):
                iteration.carry_out(mixed)
        self._n_steps_an_iteration = iteration.n_steps_taken
        self._graph = graph
        self._captured_for = self._key(hyperparameters)
        self.n_captures += 1

    def _snapshot(self) -> Callable[[], None]:
        """Copy all that an iteration changes; returns the function that puts it back."""
        iteration = self.iteration
        env = iteration.agent.train_env
        env_state, restore_learnt = env.get_state(), snapshot(iteration.agent)
        generators = (iteration.action_generator, iteration.order_generator)
        states = [generator.get_state() for generator in generators]

        def restore() -> None:
            restore_learnt()
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
