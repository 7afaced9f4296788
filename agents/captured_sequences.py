"""Updates from replayed sequences as captured graphs: all of an update is one launch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from agents.captured_replay import learnt_tensors, snapshot
from utils.models.fast_products import products_by_tensor_cores
from utils.optimization.capture import (
    CAPTURABLE_OPTIMIZERS,
    capturing,
    move_step_counts,
    warm_up_for_capture,
)

if TYPE_CHECKING:
    from agents.sequence_agent import SequenceAgent


def why_not_captured(agent: SequenceAgent) -> str | None:
    """Say what keeps an agent's updates from being captured; None if nothing does."""
    config = agent.config
    reasons = {
        "debug is set": config.debug,
        f"device is {agent.compute_device.type}": agent.compute_device.type != "cuda",
        "frames are stacked": config.frame_stack > 1,
        "replay is prioritised": agent.source.buffer.priorities is not None,
        f"optimizer is {config.optimizer}": config.optimizer
        not in (*CAPTURABLE_OPTIMIZERS, "LaProp"),
        "optimizer_kwargs are set": bool(set(config.optimizer_kwargs) & {"foreach", "fused"}),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class _Captured(NamedTuple):
    graph: torch.cuda.CUDAGraph
    keys: tuple[str, ...]
    row: Tensor
    """(n_keys,) what the update says."""


class SequenceUpdate:
    """One update as operations of the device alone, its inputs in memory that stays.

    Rows are gathered, learnt from and written back to; what differs from one update to the next is
    where the rows lie, and the learning rates. A graph of a GPU replays it; without one it does the
    same when it is called.
    """

    def __init__(self, agent: SequenceAgent) -> None:
        """Allocate the inputs."""
        self._agent = agent
        config, device = agent.config, agent.compute_device
        shape = (3, agent.source.plan.pace.batch_size, config.rows_of_sequence)
        self._located = torch.zeros(shape, dtype=torch.int64, device=device)
        self._groups = [g for o in agent.optimizers.values() for g in o.param_groups]
        self.rates = torch.zeros(len(self._groups), device=device)

    def load(self) -> None:
        """Draw sequences, and put everything where the update reads it."""
        agent = self._agent
        source = agent.source
        names = source.buffer.draw(source.plan.pace.batch_size, generator=source.generator)
        located = source.buffer.locate(names, n_context=agent.config.rows_of_context)
        self._located.copy_(torch.from_numpy(located))
        self.rates.copy_(torch.tensor([agent.rate_of(group) for group in self._groups]))

    def load_nothing(self) -> None:
        """Let the next update change no row of the buffer."""
        self._located[1].fill_(self._agent.source.buffer.nowhere)

    def run(self) -> tuple[tuple[str, ...], Tensor]:
        """Carry it out; returns metric keys and (n_keys,) values."""
        agent, buffer = self._agent, self._agent.source.buffer
        batch = agent.prepare(buffer.gather_located(self._located))
        with products_by_tensor_cores():
            learned = agent.learn_from_sequences(batch)
        if learned.memory:
            n = agent.config.rows_of_context
            buffer.write_located(self._located[1, :, n:], learned.memory)
        metrics = learned.metrics
        return tuple(metrics), torch.stack([value.float() for value in metrics.values()])

    @contextmanager
    def rates_on_device(self) -> Iterator[None]:
        """Let optimisers read their learning rates from the device."""
        before: list[dict[str, Any]] = []
        for group, rate in zip(self._groups, self.rates.unbind(), strict=True):
            before.append({"lr": group["lr"], "capturable": group["capturable"]})
            group |= {"lr": rate, "capturable": True}
        try:
            yield
        finally:
            for group, values in zip(self._groups, before, strict=True):
                group |= values


class CapturedSequences:
    """Carries out the updates of a round, each by one replay of a graph.

    A graph is captured anew where a number that it holds, or the memory that it works in, has
    changed; each kind of update (see `ReplayAgent.update_kind`) has its own.
    """

    def __init__(self, agent: SequenceAgent) -> None:
        """Prepare; nothing is captured yet."""
        assert why_not_captured(agent) is None, why_not_captured(agent)
        self._agent = agent
        self._update = SequenceUpdate(agent)
        self._graphs: dict[Hashable, _Captured] = {}
        self._captured_for: tuple[Hashable, ...] = ()
        self.n_captures = 0

    def make_updates(self, n_updates: int) -> None:
        """Draw sequences and learn from them, as `SequenceAgent.make_updates` does."""
        agent = self._agent
        for optimizer in agent.optimizers.values():
            move_step_counts(optimizer)
        if self._key() != self._captured_for:
            self._graphs.clear()
        for _ in range(n_updates):
            captured = self._graph()
            self._update.load()
            captured.graph.replay()
            agent.log.add_rows(captured.keys, captured.row.clone().unsqueeze(0))
            agent.count_update()
        agent.set_rates()  # whoever saves the optimisers shall find numbers

    def _key(self) -> tuple[Hashable, ...]:
        """Return what graphs depend on: constants and addresses."""
        agent = self._agent
        numbers = {k: v for k, v in agent.hyperparameters.items() if k != "policy_lr"}
        addresses = tuple(tensor.data_ptr() for tensor in learnt_tensors(agent))
        return (tuple(sorted(numbers.items())), addresses)

    def _graph(self) -> _Captured:
        """Return the graph of the update that is due, captured if there is none."""
        kind = self._agent.update_kind()
        if kind not in self._graphs:
            self._graphs[kind] = self._capture()
            self._captured_for = self._key()  # the first step makes the optimisers' tensors
        return self._graphs[kind]

    def _capture(self) -> _Captured:
        agent, update = self._agent, self._update
        restore = snapshot(agent)
        update.load_nothing()
        with update.rates_on_device():
            warm_up_for_capture(update.run, agent.compute_device)
            restore()
            graph = torch.cuda.CUDAGraph()
            for generator in agent.learner_generators():
                graph.register_generator_state(generator)
            with capturing(graph):
                keys, row = update.run()
        restore()  # capturing has counted the optimisers' steps, and moved generators
        self.n_captures += 1
        return _Captured(graph, keys, row)
