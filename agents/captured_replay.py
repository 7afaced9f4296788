"""Updates from a replay buffer as captured graphs: all of an update is one launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from agents.replay_update import N_AT_ONCE, ReplayUpdate
from utils.optimization import set_learning_rate
from utils.optimization.capture import (
    CAPTURABLE_OPTIMIZERS,
    capturing,
    move_step_counts,
    warm_up_for_capture,
)

if TYPE_CHECKING:
    from agents.replay_agent import ReplayAgent


def why_not_captured(agent: ReplayAgent) -> str | None:
    """Say what keeps an agent's updates from being captured; None if nothing does."""
    config = agent.config
    reasons = {
        "debug is set": config.debug,
        f"device is {agent.compute_device.type}": agent.compute_device.type != "cuda",
        "observations are normalised by running moments": agent.policy.normalizer.learns,
        f"optimizer is {config.optimizer}": config.optimizer not in CAPTURABLE_OPTIMIZERS,
        "optimizer_kwargs are set": bool(set(config.optimizer_kwargs) & {"foreach", "fused"}),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class CapturedUpdates:
    """Carries out the updates of a round, each by one replay of a graph that holds all of it.

    A graph is captured anew where a number that it holds, or the memory that it works in, has
    changed. An agent whose updates are not all alike says so by `update_kind`: each kind has its
    graph.
    """

    def __init__(self, agent: ReplayAgent) -> None:
        """Prepare; nothing is captured yet."""
        assert why_not_captured(agent) is None, why_not_captured(agent)
        self._agent = agent
        self._update = ReplayUpdate(agent)
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self._captured_for: tuple[Hashable, ...] = ()
        self._prepared_for: tuple[Hashable, ...] = ()
        self.n_captures = 0

    def make_updates(self, n_updates: int) -> None:
        """Draw batches and learn from each, as `ReplayAgent.make_updates` does."""
        agent, update = self._agent, self._update
        now = (agent.counters.epoch, *agent.hyperparameters.items())
        if now != self._prepared_for:
            self._prepare()
            self._prepared_for = now
        for first in range(0, n_updates, N_AT_ONCE):
            n = min(N_AT_ONCE, n_updates - first)
            update.load(n)
            for _ in range(n):
                self._graph().replay()
                agent.count_update()
            agent.log.add_rows(update.keys, update.said(n))

    def _prepare(self) -> None:
        """Take in what holds for an epoch; within one neither numbers nor addresses change."""
        agent = self._agent
        for optimizer in agent.optimizers.values():
            move_step_counts(optimizer)
            # Graphs read it from the device; whoever saves the optimiser shall find a number.
            set_learning_rate(optimizer, agent.hyperparameters["policy_lr"])
        self._update.set_numbers()
        if self._key() != self._captured_for:
            self._graphs.clear()

    def _graph(self) -> torch.cuda.CUDAGraph:
        """Return the graph of the update that is due, captured if there is none."""
        kind = self._agent.update_kind()
        graph = self._graphs.get(kind)
        if graph is None:
            graph = self._graphs[kind] = self._capture()
            self._captured_for = self._key()  # the first step makes the optimisers' tensors
        return graph

    def _key(self) -> tuple[Hashable, ...]:
        """Return what graphs depend on: constants and addresses."""
        agent = self._agent
        numbers = {k: v for k, v in agent.hyperparameters.items() if k not in _OUTSIDE}
        addresses = tuple(tensor.data_ptr() for tensor in learnt_tensors(agent))
        return (tuple(sorted(numbers.items())), addresses)

    def _capture(self) -> torch.cuda.CUDAGraph:
        update, device = self._update, self._agent.compute_device
        restore = snapshot(self._agent, tensors=update.tensors(), generators=update.generators())
        with update.numbers_on_device(), _chosen_convolutions():
            warm_up_for_capture(update.run, device)
            restore()
            graph = torch.cuda.CUDAGraph()
            for generator in update.generators():
                graph.register_generator_state(generator)
            with capturing(graph):
                update.run()
        restore()  # capturing has counted the optimisers' steps, and moved generators
        self.n_captures += 1
        return graph


@contextmanager
def _chosen_convolutions() -> Iterator[None]:
    """Let the first call of a convolution try which way is the fastest on this GPU."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


_OUTSIDE = ("policy_lr", "max_grad_norm", "importance_exponent", "epsilon", "exploration_noise")
"""Settings that are read outside of the graphs, or from a tensor."""


def learnt_tensors(agent: ReplayAgent) -> list[Tensor]:
    """Return all that updates change: networks, and the optimisers' tensors as far as made."""
    modules = [agent.policy, *agent.networks.values()]
    tensors = [t for m in modules for t in (*m.parameters(), *m.buffers())]
    for optimizer in agent.optimizers.values():
        for state in optimizer.state.values():
            tensors += [value for value in state.values() if isinstance(value, Tensor)]
    return [*tensors, *agent.learner_tensors()]


def snapshot(
    agent: ReplayAgent,
    *,
    tensors: Iterable[Tensor] = (),
    generators: Iterable[torch.Generator] | None = None,
) -> Callable[[], None]:
    """Copy what learning changes; returns the function that puts it back.

    Args:
        agent: Who learns.
        tensors: What changes beside what it learns.
        generators: What is drawn from; the agent's own if None.
    """
    before = [(t, t.detach().clone()) for t in (*learnt_tensors(agent), *tensors)]
    drawn_from = agent.learner_generators() if generators is None else generators
    states = [(generator, generator.get_state()) for generator in drawn_from]

    def restore() -> None:
        known = {id(tensor) for tensor, _ in before}
        with torch.no_grad():
            for tensor, copy in before:
                tensor.copy_(copy)
            for tensor in learnt_tensors(agent):
                if id(tensor) not in known:  # the warm-up's first step has made it
                    tensor.zero_()
        for generator, state in states:
            generator.set_state(state)

    return restore
