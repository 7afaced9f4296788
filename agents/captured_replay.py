"""Updates from a replay buffer as captured graphs: gather, loss, gradients and steps at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from utils.models.fast_products import products_by_tensor_cores
from utils.optimization import set_learning_rate
from utils.optimization.capture import (
    CAPTURABLE_OPTIMIZERS,
    capturing,
    device_learning_rate,
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


class _Captured(NamedTuple):
    graph: torch.cuda.CUDAGraph
    keys: tuple[str, ...]
    row: Tensor
    """(n_keys,) what the update says."""
    error: Tensor | None
    """(B,) or None; see `Learned`."""


class CapturedUpdates:
    """Carries out the updates of a round, each by one replay.

    What stays outside is the draw of the indices, whose bounds grow with the buffer, and the
    priorities. A graph is captured anew where a number that it holds, or the memory that it works
    in, has changed. An agent whose updates are not all alike says so by `update_kind`: each kind
    has its graph.
    """

    def __init__(self, agent: ReplayAgent) -> None:
        """Prepare; nothing is captured yet."""
        assert why_not_captured(agent) is None, why_not_captured(agent)
        self._agent = agent
        device, size = agent.compute_device, agent.source.plan.pace.batch_size
        self._index = torch.zeros(size, dtype=torch.int64, device=device)
        self._weight = torch.ones(size, device=device) if agent.config.prioritized_replay else None
        self._rate, self._limit = torch.zeros((2,), device=device).unbind()
        self._graphs: dict[Hashable, _Captured] = {}
        self._captured_for: tuple[Hashable, ...] = ()
        self.n_captures = 0

    def make_updates(self, n_updates: int) -> None:
        """Draw batches and learn from each, as `ReplayAgent.make_updates` does."""
        agent = self._agent
        rate = agent.hyperparameters["policy_lr"]
        self._rate.fill_(rate)
        self._limit.fill_(agent.hyperparameters.get("max_grad_norm", 0.0))
        for optimizer in agent.optimizers.values():
            move_step_counts(optimizer)
        self._forget_outdated()
        rows, keys = [], ()
        for _ in self._drawn(n_updates):
            captured = self._graph()
            captured.graph.replay()
            keys = captured.keys
            rows.append(captured.row.clone())
            if self._weight is not None:
                assert captured.error is not None, "prioritised draws need errors"
                agent.source.buffer.update_priorities(self._index, captured.error)
            agent.count_update()
        for optimizer in agent.optimizers.values():
            set_learning_rate(optimizer, rate)  # whoever saves it shall find a number
        if rows:
            agent.log.add_rows(keys, torch.stack(rows))

    def _drawn(self, n_updates: int) -> Iterator[None]:
        """Put the index, and the weights, of one update after the other where graphs read them."""
        source = self._agent.source
        if self._weight is None:
            for index in source.draw(n_updates):
                self._index.copy_(index)
                yield
            return
        buffer, beta = source.buffer, self._agent.hyperparameters["importance_exponent"]
        for _ in range(n_updates):
            self._index.copy_(source.draw()[0])
            self._weight.copy_(buffer.priorities.weights(self._index, n=len(buffer), beta=beta))
            yield

    def _forget_outdated(self) -> None:
        """Drop graphs of other constants or addresses; neither changes within a round."""
        holds_for = self._key()
        if holds_for != self._captured_for:
            self._graphs.clear()
            self._captured_for = holds_for

    def _graph(self) -> _Captured:
        """Return the graph of the update that is due, captured if there is none."""
        kind = self._agent.update_kind()
        if kind not in self._graphs:
            self._graphs[kind] = self._capture()
            self._captured_for = self._key()  # the first step makes the optimisers' tensors
        return self._graphs[kind]

    def _key(self) -> tuple[Hashable, ...]:
        """Return what graphs depend on: constants and addresses."""
        agent = self._agent
        numbers = {k: v for k, v in agent.hyperparameters.items() if k not in _OUTSIDE}
        addresses = tuple(tensor.data_ptr() for tensor in learnt_tensors(agent))
        return (tuple(sorted(numbers.items())), addresses)

    def _capture(self) -> _Captured:
        agent = self._agent
        restore = snapshot(agent)
        with self._numbers_on_device():
            warm_up_for_capture(self._learn, agent.compute_device)
            restore()
            graph = torch.cuda.CUDAGraph()
            for generator in agent.learner_generators():
                graph.register_generator_state(generator)
            with capturing(graph):
                keys, row, error = self._learn()
        restore()  # capturing has counted the optimisers' steps, and moved generators
        self.n_captures += 1
        return _Captured(graph, keys, row, error)

    def _learn(self) -> tuple[tuple[str, ...], Tensor, Tensor | None]:
        agent = self._agent
        batch = agent.source.buffer.gather(self._index)
        if self._weight is not None:
            batch = batch._replace(weight=self._weight)
        with products_by_tensor_cores():
            learned = agent.learn(agent.prepare(batch))
        return tuple(learned.metrics), torch.stack(tuple(learned.metrics.values())), learned.error

    @contextmanager
    def _numbers_on_device(self) -> Iterator[None]:
        numbers = self._agent.hyperparameters
        with ExitStack() as stack:
            if "max_grad_norm" in numbers:
                stack.callback(numbers.__setitem__, "max_grad_norm", numbers["max_grad_norm"])
                numbers["max_grad_norm"] = self._limit
            for optimizer in self._agent.optimizers.values():
                stack.enter_context(device_learning_rate(optimizer, self._rate))
            yield


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


def snapshot(agent: ReplayAgent) -> Callable[[], None]:
    """Copy what learning changes; returns the function that puts it back."""
    before = [(tensor, tensor.detach().clone()) for tensor in learnt_tensors(agent)]
    generators = [(generator, generator.get_state()) for generator in agent.learner_generators()]

    def restore() -> None:
        known = {id(tensor) for tensor, _ in before}
        with torch.no_grad():
            for tensor, copy in before:
                tensor.copy_(copy)
            for tensor in learnt_tensors(agent):
                if id(tensor) not in known:  # the warm-up's first step has made it
                    tensor.zero_()
        for generator, state in generators:
            generator.set_state(state)

    return restore
